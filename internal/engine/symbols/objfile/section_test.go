package objfile_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Bytes are had by address only of what the file has, and the program loads.
func TestBytesByAddress(t *testing.T) {
	for name, change := range map[string]func(f *objfile.File, s *objfile.Section){
		"not loaded": func(_ *objfile.File, s *objfile.Section) { s.Flags &^= objfile.Loaded },
		"zeros":      func(_ *objfile.File, s *objfile.Section) { s.Flags |= objfile.ZeroFilled },
		"cut off":    func(_ *objfile.File, s *objfile.Section) { s.FileSize = 3 },
		"elsewhere":  func(_ *objfile.File, s *objfile.Section) { s.Addr = 0x2000 },
		"no section": func(f *objfile.File, _ *objfile.Section) { f.Sections = nil },
	} {
		f, s := loaded([]byte("contents"))
		change(f, s)
		assert.Nil(t, f.From(0x1003), name)
		assert.Nil(t, f.At(0x1003, 1), name)
	}
	f, s := loaded([]byte("contents"))
	s.Size, s.FileSize = 4, 4
	next := *s
	next.Addr, next.Offset = 0x1004, 4
	f.Sections = append(f.Sections, &next)
	assert.Equal(t, []byte("t"), f.From(0x1003))
	assert.Equal(t, []byte("ents"), f.From(0x1004), "the next section begins where one ends")

	f, s = loaded([]byte("contents"))
	s.Flags |= objfile.ZeroFilled
	b, err := f.SectionBytes(s)
	require.NoError(t, err)
	assert.Nil(t, b, "a section of zeros has no bytes in the file")
	assert.False(t, f.HasDWARF())
}
