package leakcheck

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
)

type (
	shelfID                   uint64
	link[K comparable, V any] struct {
		key   K
		value V
		_     *link[K, V]
	}
)

var (
	keptNumbers *link[int64, int64]
	keptNames   *link[shelfID, string]
	keptAny     any
	nextID      shelfID = 1000
)

//go:noinline
func newLink[K comparable, V any](k K, v V) *link[K, V] { return &link[K, V]{key: k, value: v} }

func makeLinks() {
	keptNumbers = newLink[int64, int64](1, 2)
	keptNames = newLink[shelfID, string](1, "x")
}

// A generic function tells the runtime only the shape of a type: a bound counts types with that
// shape. If the name in a bound does not tell the shape, the verdict is unknown.
func TestAssertAllocsOfShapes(t *testing.T) {
	for name, c := range map[string]struct {
		bound AllocOption
		text  string
	}{
		"type":                     {Type[*link[int64, int64]]().MaxAllocsPerOp(0), "1.00 allocs/op (24 B/op), none allowed"},
		"type with a named one":    {Type[*link[shelfID, string]]().MaxAllocsPerOp(0), "1.00 allocs/op (32 B/op), none allowed"},
		"name":                     {TypeNamed("leakcheck.link[int64,int64]").MaxAllocsPerOp(0), "1.00 allocs/op (24 B/op), none allowed"},
		"all by name":              {TypeNamed("leakcheck.link[*").MaxAllocsPerOp(1), "2.00 allocs/op (56 B/op), at most 1 allowed"},
		"enough":                   {Type[*link[int64, int64]]().MaxAllocsPerOp(1), ""},
		"another shape":            {Type[*link[int32, int64]]().MaxAllocsPerOp(0), ""},
		"arrays":                   {Type[[]link[int64, int64]]().MaxAllocsPerOp(0), ""},
		"another type of its size": {Type[*shelf[string, *basket]]().MaxAllocsPerOp(0), ""},
	} {
		t.Run(name, func(t *testing.T) {
			ft := &fakeT{}
			if ok := AssertAllocs(ft, makeLinks, c.bound); c.text == "" {
				assert.True(t, ok, ft.errorText())
				return
			}
			if untoldWithRace(t, ft) {
				return
			}
			assert.Contains(t, ft.errorText(), c.text)
			assert.Contains(t, ft.errorText(), "types of one shape count together")
		})
	}
	t.Setenv("CI", "") // with CI set, an unknown verdict fails the test
	ft := &fakeT{}
	keptAny = new(link[shelfID, string]) // the program has the type
	AssertAllocs(ft, makeLinks, TypeNamed("leakcheck.link[leakcheck.shelfID,string]").MaxAllocsPerOp(0))
	assert.True(t, ft.logged("they may be those of TypeNamed"), ft.logs)
}

// A bound that passes logs allocations that may be of its type beside those that count.
func TestAssertAllocsOfBoxes(t *testing.T) {
	ft := &fakeT{}
	assert.True(t, AssertAllocs(ft, func() {
		nextID++
		keptAny = nextID
	}, Type[*shelfID]().MaxAllocsPerOp(0), Type[*basket]().MaxAllocsPerOp(0), Type[[]byte]().MaxAllocsPerOp(0)), ft.errorText())
	assert.True(t, ft.logged("Type[*leakcheck.shelfID](): 1.00 allocs/op of values of kind uint64 in interfaces may be of this type, too"), ft.logs)
	assert.False(t, ft.logged("Type[*leakcheck.basket](): "), ft.logs)
}

// What is not told of a type is not told of its name, either.
func TestAssertAllocsOfBoxesByName(t *testing.T) {
	text := strings.Repeat("text", 10)
	op := func() {
		nextID++
		keptAny = int(nextID)
		keptAny = text[nextID%2:]
		keptAny = []byte(text)
		keptAny = make(map[string]int)
	}
	for of, selectors := range map[string][]Selector{
		"values of kind uint64 in interfaces":  {Type[*int](), TypeNamed("int"), TypeNamed("float64")},
		"values of kind string in interfaces":  {Type[*string](), TypeNamed("*string")},
		"values of kind slice in interfaces":   {Type[[]byte](), TypeNamed("[]uint8"), TypeNamed("[]byte"), TypeNamed("[]string"), Type[*[]byte]()},
		"memory that the runtime knows no":     {Type[[]byte](), TypeNamed("[]byte")},
		"headers of maps":                      {Type[map[string]int](), TypeNamed("map[string]int")},
		"!values of kind uint64 in interfaces": {Type[*uint16](), TypeNamed("uint16"), TypeNamed("*leakcheck.basket"), TypeNamed("string*")},
		"!memory that the runtime knows no":    {Type[[]string](), TypeNamed("[]string"), TypeNamed("[]*leakcheck.basket"), Type[*[]byte]()},
	} {
		for _, s := range selectors {
			ft := &fakeT{}
			bound := s.MaxAllocsPerOp(0)
			assert.True(t, AssertAllocs(ft, op, bound), of, ft.errorText())
			kind, not := strings.CutPrefix(of, "!")
			assert.Equal(t, !not, ft.logged(kind), bound.String(), kind, ft.logs)
		}
	}
}
