package objfile_test

import (
	"bytes"
	"encoding/binary"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A build ID identifies a program if the go command made it, which has four hashes in it. A user's
// may be that of many programs, so the contents count then.
func TestIdentity(t *testing.T) {
	const hash = "abcdefghij0123456789"
	ofGo := strings.Repeat(hash+"/", 3) + hash
	for _, c := range []struct {
		id   string
		kept bool
	}{
		{ofGo, true},
		{"redacted", false},
		{"", false},
		{ofGo + "/" + hash, false},
		{strings.TrimSuffix(ofGo, "9"), false},
		{hash + "/" + hash, false},
	} {
		f, _ := loaded([]byte("abc"))
		f.BuildID = c.id
		want := "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
		if c.kept {
			want = c.id
		}
		assert.Equal(t, want, f.Identity(), c.id)
		f.BuildID = "another"
		assert.Equal(t, want, f.Identity(), "the identity stays as it is")
	}
}

// The build ID before the code is that of a file without notes.
func TestTextBuildID(t *testing.T) {
	const begin, end = "\xff Go build ID: \"", "\"\n \xff"
	for _, c := range []struct{ text, id string }{
		{begin + "id/of/this" + end + "code", "id/of/this"},
		{"code" + begin + "x" + end + begin + "y" + end, "x"},
		{begin + end, ""},
		{begin + "it does not end", ""},
		{"Go build ID: \"x" + end, ""},
		{"", ""},
	} {
		low, high := objfile.TextBuildID([]byte(c.text))
		assert.Equal(t, c.id, c.text[low:high], c.text)

		f, s := loaded([]byte(c.text))
		s.Name = ".text"
		want := c.id
		if want == "" {
			want = f.Hash()
		}
		assert.Equal(t, want, f.ReadTextBuildID(), c.text)
	}
	f, _ := loaded([]byte(begin + "x" + end))
	assert.Equal(t, f.Hash(), f.ReadTextBuildID(), "the section is not that of code")
	f, s := loaded([]byte("code"))
	s.Name, s.Offset = ".text", 1
	assert.Equal(t, f.Hash(), f.ReadTextBuildID(), "the code lies beyond the end of the file")
}

// buildInfo is the build information as the linker lays it out.
func buildInfo(version, modules string) []byte {
	b := make([]byte, 32)
	copy(b, "\xff Go buildinf:\x08\x02")
	b = binary.AppendUvarint(b, uint64(len(version)))
	b = append(b, version...)
	b = binary.AppendUvarint(b, uint64(len(modules)))
	return append(b, modules...)
}

// Build information is found in .data at any multiple of 16. What is cut off, or is of versions of
// Go that have it elsewhere, is not read.
func TestReadBuildInfo(t *testing.T) {
	const marks = "0123456789abcdef"
	const modules = marks + "path\texample.com/app\nmod\texample.com/app\tv1.2.3\t\n" + marks
	padded := func(n int, b []byte) []byte { return append(make([]byte, n), b...) }
	for name, c := range map[string]struct {
		contents []byte
		want     *debug.BuildInfo
		err      string
	}{
		"at the beginning": {contents: buildInfo("go1.26.8", modules), want: &debug.BuildInfo{GoVersion: "go1.26.8", Path: "example.com/app", Main: debug.Module{Path: "example.com/app", Version: "v1.2.3"}}},
		"farther on":       {contents: padded(48, buildInfo("go1.26.8", "")), want: &debug.BuildInfo{GoVersion: "go1.26.8"}},
		"without modules":  {contents: buildInfo("go1.27.3", marks+marks), want: &debug.BuildInfo{GoVersion: "go1.27.3"}},
		"modules cut off":  {contents: buildInfo("go1.26.8", modules)[:80], want: &debug.BuildInfo{GoVersion: "go1.26.8"}},
		"bad modules":      {contents: buildInfo("go1.26.8", marks+"mod\tx\n"+marks), err: "expected 2 or 3 columns"},
		"end not marked":   {contents: buildInfo("go1.26.8", marks+"mod\tx\n0"+marks), want: &debug.BuildInfo{GoVersion: "go1.26.8"}},
		"not aligned":      {contents: padded(8, buildInfo("go1.26.8", "")), err: objfile.ErrNoBuildInfo.Error()},
		"version cut off":  {contents: buildInfo("go1.26.8", "")[:36], err: objfile.ErrNoBuildInfo.Error()},
		"nothing behind":   {contents: buildInfo("go1.26.8", "")[:32], err: objfile.ErrNoBuildInfo.Error()},
		"pointers":         {contents: bytes.Replace(buildInfo("go1.17", ""), []byte{8, 2}, []byte{8, 0}, 1), err: objfile.ErrNoBuildInfo.Error()},
		"zeros":            {contents: make([]byte, 64), err: objfile.ErrNoBuildInfo.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := loaded(c.contents)
			got, err := f.BuildInfo()
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want.String(), got.String())
			version, err := f.GoVersion()
			require.NoError(t, err)
			assert.Equal(t, c.want.GoVersion, version)
		})
	}
	f, s := loaded(buildInfo("go1.26.8", ""))
	s.Offset = 1
	_, err := f.GoVersion()
	require.ErrorContains(t, err, "section .data: it lies beyond the end of the file")
}
