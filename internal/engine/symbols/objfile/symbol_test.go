package objfile_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// loaded is a file of one section, which the program has in memory at 0x1000.
func loaded(contents []byte) (*objfile.File, *objfile.Section) {
	size := uint64(len(contents))
	s := &objfile.Section{Name: ".data", Addr: 0x1000, Size: size, FileSize: size, Flags: objfile.Loaded}
	f := objfile.New(bytes.NewReader(contents), int64(size))
	f.Sections = []*objfile.Section{s}
	return f, s
}

// A symbol extends to the next one, to the end of its section, or over what its kind has.
func TestSizeSymbols(t *testing.T) {
	contents := make([]byte, 0x200)
	binary.LittleEndian.PutUint64(contents[0x100+8:], 3) // cases of an interface switch
	binary.LittleEndian.PutUint32(contents[0x140+4:], 2) // functions of an initialisation task
	binary.LittleEndian.PutUint64(contents[0x180+8:], 1<<61)
	f, data := loaded(contents)
	bss := &objfile.Section{Name: ".bss", Addr: 0x1200, Size: 0x80, Flags: objfile.Loaded | objfile.ZeroFilled}
	f.Sections = append(f.Sections, bss)
	list := []objfile.Symbol{
		{Name: "lastOfBSS", Addr: 0x1270, Section: bss},
		{Name: "main.F..interfaceSwitch.7", Addr: 0x1100, Section: data},
		{Name: "first", Addr: 0x1000, Section: data},
		{Name: "runtime.data", Addr: 0x1000, Section: data},
		{Name: "same", Addr: 0x1010, Section: data},
		{Name: "place", Addr: 0x1010, Section: data},
		{Name: "main.F..typeAssert.0", Addr: 0x1020, Section: data},
		{Name: "tight..typeAssert.0", Addr: 0x1050, Section: data},
		{Name: "behind", Addr: 0x1058, Section: data},
		{Name: "main..inittask", Addr: 0x1140, Section: data},
		{Name: "damaged..interfaceSwitch.1", Addr: 0x1180, Section: data},
		{Name: "bss", Addr: 0x1200, Section: bss},
		{Name: "zeros..inittask", Addr: 0x1240, Section: bss},
		{Name: "runtime.end", Addr: 0x1280, Section: bss},
		{Name: "outside", Addr: 0x1290, Section: bss},
	}
	f.SizeSymbols(list)
	type sized struct {
		name string
		size uint64
	}
	var got []sized
	for i, s := range list {
		got = append(got, sized{s.Name, s.Size})
		assert.True(t, i == 0 || list[i-1].Addr <= s.Addr, "%s is not in order", s.Name)
	}
	assert.Equal(t, []sized{
		{"first", 0x10},
		{"runtime.data", 0},
		{"same", 0x10},
		{"place", 0x10},
		{"main.F..typeAssert.0", 24},
		{"tight..typeAssert.0", 8},
		{"behind", 0xa8},
		{"main.F..interfaceSwitch.7", 40},
		{"main..inittask", 24},
		{"damaged..interfaceSwitch.1", 0x80}, // no farther than its section
		{"bss", 0x40},
		{"zeros..inittask", 8},
		{"lastOfBSS", 0x10},
		{"runtime.end", 0},
		{"outside", 0},
	}, got)
}

// A symbol is found by its name. The table is read once.
func TestSymbolNamed(t *testing.T) {
	f, data := loaded(nil)
	reads := 0
	f.ReadSymbols = func() ([]objfile.Symbol, error) {
		reads++
		return []objfile.Symbol{{Name: "a", Addr: 1, Section: data}, {Name: "b", Addr: 2}, {Name: "b", Addr: 3}}, nil
	}
	s, ok := f.SymbolNamed("b")
	assert.True(t, ok)
	assert.Equal(t, objfile.Symbol{Name: "b", Addr: 2}, s)
	_, ok = f.SymbolNamed("c")
	assert.False(t, ok)
	assert.Equal(t, 1, reads)

	f, _ = loaded(nil)
	f.ReadSymbols = func() ([]objfile.Symbol, error) { return nil, objfile.ErrNoSymbols }
	_, ok = f.SymbolNamed("b")
	assert.False(t, ok)
	_, err := f.Symbols()
	require.ErrorIs(t, err, objfile.ErrNoSymbols)
}
