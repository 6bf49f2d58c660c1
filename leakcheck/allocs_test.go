package leakcheck

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
)

type (
	basket                     struct{ items []line }
	line                       struct{ _, _ int }
	shelf[K comparable, V any] struct{ of map[K]V }
)

var (
	keptBasket *basket
	keptShelf  *shelf[string, *basket]
)

func fillBasket() {
	keptBasket = &basket{items: make([]line, 10)}
	keptShelf = &shelf[string, *basket]{of: map[string]*basket{}}
	keptShelf.of["a"] = keptBasket
}

// Bounds equal to the figures hold, and lower ones are broken.
func TestAssertAllocs(t *testing.T) {
	for name, c := range map[string]struct {
		holds, breaks AllocOption
		text          string
	}{
		"type":          {Type[basket]().MaxAllocsPerOp(1), Type[*basket]().MaxAllocsPerOp(0), "Type[*leakcheck.basket](): 1.00 allocs/op (24 B/op), none allowed"},
		"bytes of type": {Type[basket]().MaxBytesPerOp(24), Type[*basket]().MaxBytesPerOp(23), "Type[*leakcheck.basket](): 1.00 allocs/op (24 B/op), at most 23 B allowed"},
		"slice":         {Type[[]line]().MaxAllocsPerOp(1), Type[[]line]().MaxBytesPerOp(100), "Type[[]leakcheck.line](): 1.00 allocs/op (160 B/op), at most 100 B allowed"},
		"element":       {Type[line]().MaxAllocsPerOp(0), nil, ""},
		"map":           {Type[map[string]*basket]().MaxAllocsPerOp(1), Type[map[string]*basket]().MaxAllocsPerOp(0), "Type[map[string]*leakcheck.basket](): 1.00 allocs/op"},
		"generic":       {Type[shelf[string, *basket]]().MaxAllocsPerOp(1), Type[shelf[string, *basket]]().MaxAllocsPerOp(0), "]](): 1.00 allocs/op (8 B/op), none allowed"},
		"by name":       {TypeNamed("leakcheck.bask*").MaxAllocsPerOp(1), TypeNamed("leakcheck.bask*").MaxAllocsPerOp(0), `TypeNamed("leakcheck.bask*"): 1.00 allocs/op`},
		"all":           {AllAllocs().MaxAllocsPerOp(5), AllAllocs().MaxAllocsPerOp(4), "AllAllocs(): 5.00 allocs/op"},
	} {
		t.Run(name, func(t *testing.T) {
			ft := &fakeT{}
			assert.True(t, AssertAllocs(ft, fillBasket, c.holds), ft.errorText())
			assert.True(t, ft.logged("op allocates 5.00 allocs/op"), ft.logs)
			if c.breaks == nil {
				return
			}
			ft = &fakeT{}
			ok := AssertAllocs(ft, fillBasket, c.holds, c.breaks)
			if untoldWithRace(t, ft) {
				return
			}
			assert.False(t, ok)
			assert.Contains(t, ft.errorText(), c.text)
			assert.Contains(t, ft.errorText(), "leakcheck: op allocates more than the test allows (1 of 2 bounds)")
			assert.Contains(t, ft.errorText(), "1.00         160  []leakcheck.line")
		})
	}
}

var (
	keptRows    []line
	keptBaskets []basket
	keptLinks   []link[shelfID, string]
)

//go:noinline
func keepLines(all ...line) { keptRows = all }

//go:noinline
func twoLinks[K comparable, V any](k K, v V) []link[K, V] {
	return []link[K, V]{{key: k, value: v}, {key: k}}
}

// The array of a composite literal, and that of a variadic call, are allocated as [n]T. They count
// for []T, and for [n]T of that length.
func TestAssertAllocsOfLiterals(t *testing.T) {
	literal := func() { keptRows = []line{{1, 2}, {3, 4}} }
	variadic := func() { keepLines(line{1, 2}, line{3, 4}) }
	generic := func() { keptLinks = twoLinks[shelfID, string](1, "x") }
	grown := func() { keptBaskets = append([]basket(nil), basket{}) }
	for name, c := range map[string]struct {
		op    func()
		bound AllocOption
		text  string // of a failure, or of a note
		holds bool
	}{
		"literal":               {literal, Type[[]line]().MaxAllocsPerOp(0), "1.00 allocs/op (32 B/op), none allowed", false},
		"variadic":              {variadic, Type[[]line]().MaxAllocsPerOp(0), "1.00 allocs/op (32 B/op), none allowed", false},
		"by name":               {literal, TypeNamed("[]leakcheck.line").MaxAllocsPerOp(0), "1.00 allocs/op (32 B/op), none allowed", false},
		"array":                 {literal, Type[[2]line]().MaxAllocsPerOp(0), "1.00 allocs/op (32 B/op), none allowed", false},
		"shape":                 {generic, Type[[]link[shelfID, string]]().MaxAllocsPerOp(0), "1.00 allocs/op (64 B/op), none allowed", false},
		"allowed":               {literal, Type[[]line]().MaxAllocsPerOp(1), "op allocates 1.00 allocs/op", true},
		"array of other length": {literal, Type[[3]line]().MaxAllocsPerOp(0), "", true},
		"elements":              {literal, Type[line]().MaxAllocsPerOp(0), "", true},
		"elements of a shape":   {generic, Type[link[shelfID, string]]().MaxAllocsPerOp(0), "", true},
		"other elements":        {literal, Type[[]basket]().MaxAllocsPerOp(0), "", true},
		"arrays of arrays":      {literal, Type[[][2]line]().MaxAllocsPerOp(0), "Type[[][2]leakcheck.line](): 1.00 allocs/op of [2]leakcheck.line may be of this type, too", true},
		"room for one":          {grown, Type[[]basket]().MaxAllocsPerOp(0), "Type[[]leakcheck.basket](): 1.00 allocs/op of leakcheck.basket may be of this type, too; AllAllocs counts them", true},
	} {
		t.Run(name, func(t *testing.T) {
			ft := &fakeT{}
			ok := AssertAllocs(ft, c.op, c.bound)
			if c.holds {
				assert.True(t, ok, ft.errorText())
				assert.True(t, ft.logged(c.text), ft.logs)
				return
			}
			if untoldWithRace(t, ft) {
				return
			}
			assert.False(t, ok)
			assert.Contains(t, ft.errorText(), c.text)
		})
	}
}

// untoldWithRace reports whether a broken bound was not judged because of -race.
func untoldWithRace(t *testing.T, ft *fakeT) bool {
	t.Helper()
	assert.Equal(t, alloc.RaceDetector, strings.Contains(ft.skipped+ft.errorText(), "run this test without -race"), ft.errorText())
	return alloc.RaceDetector
}

// A bound that every other call breaks is broken. Setup in a few calls does not break it, and is
// logged.
func TestAssertAllocsOfSomeCalls(t *testing.T) {
	calls := 0
	every := func(n int) func() {
		return func() {
			if calls++; calls%n == 0 {
				keptBasket = new(basket)
			}
		}
	}
	bound, hundred := Type[basket]().MaxAllocsPerOp(0), Iterations(100) // less if a call is slow by chance
	ft := &fakeT{}
	ok := AssertAllocs(ft, every(2), bound, hundred)
	if !untoldWithRace(t, ft) {
		assert.False(t, ok)
		assert.Contains(t, ft.errorText(), "0.50 allocs/op (12 B/op), none allowed")
	}
	ft = &fakeT{}
	assert.True(t, AssertAllocs(ft, every(50), bound, hundred), ft.errorText())
	assert.True(t, ft.logged("2 objects in 100 calls are more than the bound, which passes"), ft.logs)
	// once, in the first recording
	calls = 0
	ft = &fakeT{}
	assert.True(t, AssertAllocs(ft, func() {
		if calls++; calls > 4 && calls <= 104 {
			keptBasket = new(basket)
		}
	}, bound, hundred), ft.errorText())
	assert.True(t, ft.logged("at first op allocated more"), ft.logs)
}

func TestAssertAllocsMisuse(t *testing.T) {
	for text, opts := range map[string][]AllocOption{
		"option 1 is nil":                                    {nil},
		"a bound cannot be negative":                         {AllAllocs().MaxAllocsPerOp(-1)},
		"allocations are told by their type":                 {Root("leakcheck.keptBasket").MaxAllocsPerOp(1)},
		"does not say which allocations are strings":         {Type[string]().MaxAllocsPerOp(1)},
		"does not say which allocations are channels":        {Type[chan int]().MaxAllocsPerOp(1)},
		"say which allocations are strings; limit them":      {TypeNamed("string").MaxAllocsPerOp(1)},
		"say which allocations are channels; limit them":     {TypeNamed("<-chan *leakcheck.basket").MaxAllocsPerOp(1)},
		"does not say which allocations are closures":        {Type[func()]().MaxAllocsPerOp(1)},
		"say which allocations are closures; limit them":     {TypeNamed("func leakcheck.fillBasket").MaxAllocsPerOp(1)},
		"only function types and interfaces have such a":     {TypeNamed("leakcheck.TestingT").MaxAllocsPerOp(1)},
		"is an interface, and no object has such a type":     {Type[error]().MaxAllocsPerOp(1)},
		"op must be called at least once a batch":            {Iterations(0), AllAllocs().MaxAllocsPerOp(100)},
		"has neither MaxAllocsPerOp nor MaxBytesPerOp":       {AllocBound{}},
		"the program has no such type; did you mean":         {TypeNamed("leakcheck.baskett").MaxAllocsPerOp(1)},
		"the test has no name to call its golden file after": {Iterations(10)},
	} {
		ft := &fakeT{}
		assert.False(t, AssertAllocs(ft, fillBasket, opts...), text)
		assert.Contains(t, ft.errorText(), text)
	}
	ft := &fakeT{}
	assert.False(t, AssertAllocs(ft, nil, AllAllocs().MaxAllocsPerOp(1)))
	assert.Contains(t, ft.errorText(), "op is nil")
	assert.Equal(t, `TypeNamed("x.*").MaxAllocsPerOp(1).MaxBytesPerOp(2)`, TypeNamed("x.*").MaxAllocsPerOp(1).MaxBytesPerOp(2).String())
}

// An operation that fails the test is not judged.
func TestAssertAllocsOfFailingOp(t *testing.T) {
	ft := &failedT{}
	assert.False(t, AssertAllocs(ft, func() { ft.failed = true }, AllAllocs().MaxAllocsPerOp(0)))
	assert.Equal(t, "leakcheck: what op allocates was not checked, because op failed the test", strings.Join(ft.logs, "\n"))
}

// A test that has failed before the assertion is still judged.
func TestAssertAllocsAfterFailure(t *testing.T) {
	ft := &failedT{failed: true}
	assert.True(t, AssertAllocs(ft, fillBasket, AllAllocs().MaxAllocsPerOp(5)), ft.errorText())
	assert.True(t, ft.logged("op allocates 5.00 allocs/op"), ft.logs)
}

type failedT struct {
	fakeT
	failed bool
}

func (t *failedT) Failed() bool { return t.failed }

func (t *failedT) Skipped() bool { return false }

var (
	keptText  *string
	keptWords *[]string
	keptTable *map[string]int
	keptLine  *chan int
)

// A variable of any type that moves to the heap can be bounded, by Type and by the name in the
// table: a String method that returns *string, say.
func TestAssertAllocsOfVariables(t *testing.T) {
	op := func() {
		text, names, table, lines := "a", []string(nil), map[string]int(nil), chan int(nil)
		keptText, keptWords, keptTable, keptLine = &text, &names, &table, &lines
	}
	for name, s := range map[string]Selector{
		"string": Type[*string](), "[]string": Type[*[]string](), "map[string]int": Type[*map[string]int](), "chan int": Type[*chan int](),
	} {
		for _, s := range []Selector{s, TypeNamed("*" + name)} {
			ft := &fakeT{}
			assert.True(t, AssertAllocs(ft, op, s.MaxAllocsPerOp(1), AllAllocs().MaxAllocsPerOp(4)), ft.errorText())
			ft = &fakeT{}
			if ok := AssertAllocs(ft, op, s.MaxAllocsPerOp(0)); !untoldWithRace(t, ft) {
				assert.False(t, ok, name)
				assert.Contains(t, ft.errorText(), ": 1.00 allocs/op (", name)
			}
		}
	}
}

var (
	keptNumber   *int
	keptPointer  **int
	keptSubject  *subject
	keptSubjects **subject
)

type subject struct{ _ *int }

// A name means what the table shows: a pointer that lies on the heap is "*int" there, and no int.
func TestAssertAllocsOfPointers(t *testing.T) {
	object, pointer := func() { keptSubject, keptNumber = new(subject), new(int) }, func() { keptSubjects, keptPointer = new(*subject), new(*int) }
	for _, c := range []struct {
		name    string
		op      func()
		counted bool
	}{
		{"leakcheck.subject", object, true},
		{"leakcheck.subject", pointer, false},
		{"*leakcheck.subject", object, true},
		{"*leakcheck.subject", pointer, true},
		{"int", object, true},
		{"int", pointer, false},
		{"*int", object, true},
		{"*int", pointer, true},
	} {
		ft := &fakeT{}
		if ok := AssertAllocs(ft, c.op, TypeNamed(c.name).MaxAllocsPerOp(0)); !c.counted || !untoldWithRace(t, ft) {
			assert.Equal(t, !c.counted, ok, "%s: %s", c.name, ft.errorText())
		}
	}
}
