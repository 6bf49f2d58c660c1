package leakcheck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/assert"
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

// A failure says where the objects were allocated, up to the operation.
func TestAllocationSites(t *testing.T) {
	q := &quietT{TB: t}
	if alloc.RaceDetector {
		return // no bound is told to be broken
	}
	assert.False(t, leakcheck.AssertAllocs(q, placeOrder, leakcheck.Type[order]().MaxAllocsPerOp(0)))
	assert.Contains(t, q.text.String(), "    160 B, 1.00 allocs/op at:\n       github.com/leakgate/leakgate/leakcheck_test.placeOrder (allocs_sites_test.go:18)\n\n    op was called 100 times")
}

type parcel struct{ _ [20]*int } // as large as an order

var keptParcel *parcel

// A stack is told by the size of what it allocates: the message says what else it may be.
func TestAllocationSitesOfOneSize(t *testing.T) {
	q := &quietT{TB: t}
	if alloc.RaceDetector {
		return // no bound is told to be broken
	}
	both := func() {
		placeOrder()
		keptParcel = new(parcel)
	}
	assert.False(t, leakcheck.AssertAllocs(q, both, leakcheck.Type[order]().MaxAllocsPerOp(0)))
	assert.Contains(t, q.text.String(), "    160 B, 1.00 allocs/op at:\n       (told by size: it may be leakcheck_test.parcel, too)\n")
}
