package heaptest

//lint:file-ignore U1000 roots are there for the scan

import (
	"math/rand/v2"
	"unsafe"
)

// Types of random object graphs. Objects are at least 16 bytes or hold pointers, so that none
// shares a block.
type (
	Knot struct {
		ID    int
		A, B  *Knot
		Other *Corner
		List  []*Knot
		Any   any
		Fn    func() *Knot
	}
	Corner struct {
		Back *Knot
		Data []byte
		In   struct{ X, Y *Knot }
		Rest Container
	}
	Container struct {
		M  map[int]*Knot
		K  map[*Knot]*Corner
		Ch chan *Knot
	}
)

// Package begins the names of this package's types and variables.
const Package = "github.com/leakgate/leakgate/internal/testkit/heaptest."

// The roots of a random graph.
var (
	RootPointer *Knot
	rootSlice   []*Knot
	rootStruct  struct {
		X, Y *Knot
		C    *Corner
	}
	rootAny   any
	rootFunc  func() *Knot
	rootArray [4]*Knot
	rootMap   map[int]*Knot
)

// Roots are the names of the roots.
var Roots = []string{
	Package + "RootPointer", Package + "rootSlice", Package + "rootStruct", Package + "rootAny", Package + "rootFunc", Package + "rootArray", Package + "rootMap",
}

// ClearGraph empties all roots.
func ClearGraph() {
	RootPointer, rootSlice, rootAny, rootFunc, rootArray, rootMap = nil, nil, nil, nil, [4]*Knot{}, nil
	rootStruct.X, rootStruct.Y, rootStruct.C = nil, nil, nil
}

// Made is what the builder knows of an object: the address is a number here, so that it keeps
// nothing alive.
type Made struct {
	Addr uintptr
	Type string
}

// FillGraph fills the roots with a graph of about 2n objects.
//
//go:noinline
func FillGraph(rng *rand.Rand, n int, containers bool) []Made {
	ClearGraph()
	vs, cs := make([]*Knot, n), make([]*Corner, n/4+1)
	var all []Made
	for i := range vs {
		vs[i] = &Knot{ID: i}
		all = append(all, Made{uintptr(unsafe.Pointer(vs[i])), "*" + Package + "Knot"})
	}
	for i := range cs {
		cs[i] = &Corner{Data: make([]byte, 32+rng.IntN(3000))}
		all = append(all, Made{uintptr(unsafe.Pointer(cs[i])), "*" + Package + "Corner"})
	}
	// Edges prefer neighbours, which makes long paths; some lead anywhere.
	near := func(i int) *Knot {
		if rng.IntN(4) == 0 {
			return vs[rng.IntN(n)]
		}
		return vs[(i+rng.IntN(7))%n]
	}
	for i, v := range vs {
		if rng.IntN(2) == 0 {
			v.A = near(i)
		}
		if rng.IntN(3) == 0 {
			v.B = near(i)
		}
		switch rng.IntN(10) {
		case 0:
			v.Other = cs[rng.IntN(len(cs))]
		case 1:
			for range 1 + rng.IntN(20) {
				v.List = append(v.List, near(i))
			}
		case 2:
			v.Any = near(i)
		case 3:
			v.Any = cs[rng.IntN(len(cs))].In
		case 4:
			to := near(i)
			v.Fn = func() *Knot { return to }
		}
	}
	for i, c := range cs {
		c.Back, c.In.Y = near(i*4%n), near(i*4%n)
		if !containers {
			continue
		}
		switch rng.IntN(4) {
		case 0:
			c.Rest.M = make(map[int]*Knot)
			for k := range 1 + rng.IntN(40) {
				c.Rest.M[k] = near(i)
			}
		case 1:
			c.Rest.K = map[*Knot]*Corner{near(i): cs[rng.IntN(len(cs))], near(i): cs[rng.IntN(len(cs))]}
		case 2:
			c.Rest.Ch = make(chan *Knot, 8)
			for range 5 {
				c.Rest.Ch <- near(i)
			}
		}
	}
	pick := func() *Knot { return vs[rng.IntN(n)] }
	RootPointer, rootStruct.X, rootStruct.C, rootArray[2] = pick(), pick(), cs[rng.IntN(len(cs))], pick()
	for range 5 {
		rootSlice = append(rootSlice, pick())
	}
	rootAny = pick()
	to := pick()
	rootFunc = func() *Knot { return to }
	if containers {
		rootMap = map[int]*Knot{1: pick(), 2: pick()}
	}
	return all
}
