package progtest

import (
	"bytes"
	"math"
	"math/rand/v2"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
)

// Damage returns a copy of b with some bytes overwritten, at random places between low and high.
func Damage(r *rand.Rand, b []byte, low, high int) []byte {
	out := bytes.Clone(b)
	for range 1 + r.IntN(20) {
		at := low + r.IntN(high-low)
		for i := range min(1+r.IntN(8), high-at) {
			out[at+i] = byte([]uint32{0, 1, 0x7f, 0x80, 0xff, r.Uint32()}[r.IntN(6)])
		}
	}
	return out
}

// AskEverything calls every accessor of an index, with ids and addresses of the index and with
// invalid ones.
func AskEverything(x *symindex.Index) {
	x.GoVersion()
	x.Identity()
	x.Warnings()
	x.PackageNames()
	for id := range min(x.NumTypes()+2, 3000) {
		t := x.Type(symindex.TypeID(id))
		x.TypeByName(t.Name)
		x.TypesByHash(t.RuntimeHash)
		for _, f := range t.Fields {
			x.Type(f.Type)
		}
	}
	x.Type(math.MaxUint32)
	for i, g := range x.Globals() {
		if i < 1000 {
			x.GlobalByName(g.Name)
		}
	}
	funcs := x.Funcs()
	for _, f := range funcs[:min(len(funcs), 3000)] {
		x.FuncByPC(f.Entry)
		x.FuncByPC(f.End)
		for _, l := range x.Locals(f.Entry) {
			x.Type(l.Type)
		}
		x.Captures(f.Entry)
	}
	x.FuncByPC(0)
	x.FuncByPC(math.MaxUint64)
}
