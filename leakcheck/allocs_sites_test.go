package leakcheck_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck"
	"github.com/leakgate/leakgate/leakcheck/internal/alloc"
)

type order struct{ _ [20]int }

var keptOrder *order

//go:noinline
func placeOrder() { keptOrder = new(order) }

type quietT struct {
	testing.TB
	text strings.Builder
}

func (t *quietT) Errorf(format string, args ...any) { fmt.Fprintf(&t.text, format, args...) }

// A failure has the stacks that allocated the objects, up to the operation.
func TestAllocationSites(t *testing.T) {
	q := &quietT{TB: t}
	if alloc.RaceDetector {
		return // no bound is told to be broken
	}
	assert.False(t, leakcheck.AssertAllocs(q, placeOrder, leakcheck.Type[order]().MaxAllocsPerOp(0)))
	assert.Contains(t, q.text.String(), "    160 B, 1.00 allocs/op of leakcheck_test.order at:\n       github.com/leakgate/leakgate/leakcheck_test.placeOrder (allocs_sites_test.go:19)\n\n    op was called 100 times")
}

type parcel struct{ _ [20]*int } // as large as an order

var (
	keptParcel *parcel
	keptAny    any
)

// The code at a call distinguishes its objects from others of the same size. Objects that
// reflection allocates are matched by size, and the message says which other objects they may be.
func TestAllocationSitesOfOneSize(t *testing.T) {
	if alloc.RaceDetector {
		return // no bound is told to be broken
	}
	types := []reflect.Type{reflect.TypeFor[order]()}
	newOrder := func() { keptAny = reflect.New(types[0]).Interface() }
	for text, op := range map[string]func(){
		"    160 B, 1.00 allocs/op of leakcheck_test.order at:\n       github.com/leakgate/leakgate/leakcheck_test.placeOrder (":  placeOrder,
		"    160 B, 1.00 allocs/op at:\n       (told by size: it may be leakcheck_test.parcel, too)\n       reflect.unsafe_New (": newOrder,
	} {
		q := &quietT{TB: t}
		both := func() {
			op()
			keptParcel = new(parcel)
		}
		assert.False(t, leakcheck.AssertAllocs(q, both, leakcheck.Type[order]().MaxAllocsPerOp(0)))
		assert.Contains(t, q.text.String(), text)
		assert.NotContains(t, q.text.String(), "of leakcheck_test.parcel at:")
	}
}

var (
	keptTable map[string]int
	keptLine  *chan int
)

// Of a map's parts only the tables count. A variable of a channel type is no channel, and has
// pointers though it is small.
func TestAllocationSitesOfParts(t *testing.T) {
	if alloc.RaceDetector {
		return // no bound is told to be broken
	}
	op := func() { keptTable, keptLine = make(map[string]int, 100), new(chan int) }
	for name, s := range map[string]leakcheck.Selector{
		"map[string]int": leakcheck.Type[map[string]int](), "chan int": leakcheck.Type[*chan int](),
	} {
		q := &quietT{TB: t}
		assert.False(t, leakcheck.AssertAllocs(q, op, s.MaxAllocsPerOp(0)))
		assert.Equal(t, 1, strings.Count(q.text.String(), "B, 1.00 allocs/op of "+name+" at:\n"), q.text.String())
		assert.NotContains(t, q.text.String(), name+": ")
	}
}
