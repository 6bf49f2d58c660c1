package dwarfread

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

func TestFramePlaces(t *testing.T) {
	frame := func(off, varOff, size int64) symindex.Place {
		return symindex.Place{Low: 1, High: 2, CFAOffset: off, VarOffset: varOff, Size: size}
	}
	for name, c := range map[string]struct {
		expr []byte
		want []symindex.Place
	}{
		"frame base":             {[]byte{opFbreg, 0x70}, []symindex.Place{frame(-16, 0, wholeVariable)}},
		"far below":              {[]byte{opFbreg, 0x80, 0x7f}, []symindex.Place{frame(-128, 0, wholeVariable)}},
		"frame address":          {[]byte{opCallFrameCFA}, []symindex.Place{frame(0, 0, wholeVariable)}},
		"frame address plus":     {[]byte{opCallFrameCFA, opPlusUconst, 24}, []symindex.Place{frame(24, 0, wholeVariable)}},
		"frame address constant": {[]byte{opCallFrameCFA, opConsts, 0x78, opPlus}, []symindex.Place{frame(-8, 0, wholeVariable)}},
		"short constant":         {[]byte{opCallFrameCFA, opConst1s, 0xf8, opPlus}, []symindex.Place{frame(-8, 0, wholeVariable)}},
		"register":               {[]byte{opReg0 + 3}, nil},
		"register by number":     {[]byte{opRegx, 40}, nil},
		"address":                {[]byte{opAddr, 1, 2, 3, 4, 5, 6, 7, 8}, nil},
		"pieces":                 {[]byte{opFbreg, 8, opPiece, 8, opFbreg, 16, opPiece, 8}, []symindex.Place{frame(8, 0, 8), frame(16, 8, 8)}},
		"second piece":           {[]byte{opReg0, opPiece, 8, opFbreg, 16, opPiece, 8}, []symindex.Place{frame(16, 8, 8)}},
		"optimised-out piece":    {[]byte{opPiece, 8, opFbreg, 16, opPiece, 8}, []symindex.Place{frame(16, 8, 8)}},
		"empty":                  {nil, nil},
		"cut":                    {[]byte{opFbreg}, nil},
		"cut number":             {[]byte{opFbreg, 0x80}, nil},
		"huge piece":             {[]byte{opFbreg, 8, opPiece, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, nil},
		"unknown":                {[]byte{opFbreg, 8, 0xf3}, nil},
	} {
		assert.Equal(t, c.want, framePlaces(nil, c.expr, 1, 2), name)
	}
}

func TestLists(t *testing.T) {
	addr := []byte{0xee, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0}
	type entry struct{ low, high uint64 }
	l := lists{dwarf5: true, base: 0x100, addr: addr, addrBase: 8, loc: []byte{
		lleOffsetPair, 1, 2, 0,
		lleBaseAddressx, 1,
		lleOffsetPair, 3, 4, 1, opCallFrameCFA,
		lleStartxEndx, 0, 1, 0,
		lleStartxLength, 0, 5, 0,
		lleStartEnd, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0,
		lleStartLength, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0,
		lleEndOfList, lleOffsetPair, 9, 9, 0,
	}}
	var got []entry
	l.locations(0, func(low, high uint64, _ []byte) { got = append(got, entry{low, high}) })
	assert.Equal(t, []entry{{0x101, 0x102}, {0x2003, 0x2004}, {0x1000, 0x2000}, {0x1000, 0x1005}, {1, 2}, {1, 8}}, got)

	l.rng = []byte{
		rleOffsetPair, 1, 2, rleBaseAddressx, 1, rleOffsetPair, 3, 4, rleOffsetPair, 4, 4, rleStartxEndx, 0, 1,
		rleStartxLength, 0, 5, rleEndOfList, rleOffsetPair, 9, 10,
	}
	assert.Equal(t, []span{{Low: 0x101, High: 0x102}, {Low: 0x2003, High: 0x2004}, {Low: 0x1000, High: 0x2000}, {Low: 0x1000, High: 0x1005}}, l.ranges(0))
	assert.Nil(t, l.ranges(1000))
	assert.Nil(t, l.ranges(-1))

	word := func(v byte) []byte { return []byte{v, 0, 0, 0, 0, 0, 0, 0} }
	old := lists{base: 0x100}
	for _, v := range []byte{1, 2, 3, 4, 0, 0, 9, 9} {
		old.rng = append(old.rng, word(v)...)
	}
	assert.Equal(t, []span{{Low: 0x101, High: 0x102}, {Low: 0x103, High: 0x104}}, old.ranges(0))
	old.loc = append(append(append(append(word(1), word(2)...), 1, 0, opCallFrameCFA), word(0)...), word(0)...)
	got = nil
	old.locations(0, func(low, high uint64, expr []byte) {
		got = append(got, entry{low, high})
		assert.Equal(t, []byte{opCallFrameCFA}, expr)
	})
	assert.Equal(t, []entry{{0x101, 0x102}}, got)
}

func TestNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"main.x":                           {"main.x", "main"},
		"example.com/app.(*T).M-fm":        {"example.com/app.(*T).M-fm", "example.com/app"},
		"gopkg.in/yaml%2ev3.(*Node).Kind":  {"gopkg.in/yaml.v3.(*Node).Kind", "gopkg.in/yaml.v3"},
		"a/b.F[go.shape.struct { c/d.E }]": {"a/b.F[go.shape.struct { c/d.E }]", "a/b"},
		"type:.eq.a/b.T":                   {"type:.eq.a/b.T", ""},
		"go:itab.*os.File,io.Reader":       {"go:itab.*os.File,io.Reader", ""},
		"nothing":                          {"nothing", ""},
		"x/%c3%a9.V":                       {"x/é.V", "x/é"},
		`struct { A int "fmt:%25d" }`:      {`struct { A int "fmt:%25d" }`, ""},
		"a/b%2":                            {"a/b%2", ""},
	} {
		assert.Equal(t, want[0], symbol.Unescape(name), name)
		assert.Equal(t, want[1], symbol.Package(name), name)
	}
}
