package growth

import (
	"math"
	"runtime"
	"time"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// maxCounts is after how many collections a proof gives up.
const maxCounts = 4

// awaitEnds gives what is about to end its moment: at first without the timer that a goroutine
// gets, for good, when it sleeps.
func (x *Experiment) awaitEnds(i int) {
	if i > 0 {
		x.Sleep(time.Duration(i) * 100 * time.Microsecond)
		return
	}
	const yields = 100
	for range yields {
		runtime.Gosched()
	}
}

// maxNew is how many things may be new after so many calls: one more would be less than a leak of
// the given rate leaves.
func maxNew(perCall float64, calls int) int64 {
	return int64(max(0, math.Ceil(perCall*float64(calls)-1)-1))
}

// provesResources reports whether no more resources are there than a leak of the smallest rate
// would leave, given what there was before so many calls. What is about to end has its moment.
func (x *Experiment) provesResources(before *ledger.Glance, calls int) bool {
	for i := range maxCounts {
		if i > 0 {
			x.awaitEnds(i)
		}
		now, err := ledger.TakeGlance()
		if err != nil {
			return false
		}
		if fewResources(now.NewSince(before), calls) {
			return true
		}
	}
	return false
}

// fewResources reports whether so little is new after so many calls that none of it can be a leak.
func fewResources(grown ledger.Amounts, calls int) bool {
	most := maxNew(series.MinGrownPerCall, calls)
	for _, k := range ledger.Kinds() {
		allowed := most
		switch k {
		case ledger.Thread:
			allowed = maxNew(finding.MinThreadsPerCall, calls)
		case ledger.Mapping:
			allowed = int64(series.MinMappedPerCall*calls) - 1
		case ledger.Stack:
			allowed = finding.MinStack - 1
		case ledger.Native, ledger.NativeBytes:
			continue // no glance sees them: provesNative
		}
		if grown[k] > allowed {
			return false
		}
	}
	return true
}

// nativeBefore returns what C code has before a proof; false if nothing is to be proved of that.
func (x *Experiment) nativeBefore() (h *nativeheap.Heap, knows bool) {
	if x.Native == nil || x.Resources == nil {
		return nil, false
	}
	h, err := x.Native()
	if err != nil {
		x.noteNative(err)
		return nil, false
	}
	return h, true
}

// provesNative reports whether C code has no more than a leak of the smallest rate would leave,
// given what it had before so many calls. Sizes are told apart: fewer blocks of one do not make up
// for more of another.
func (x *Experiment) provesNative(before *nativeheap.Heap, calls int) bool {
	for i := range maxCounts {
		if i > 0 {
			x.awaitEnds(i)
		}
		now, err := x.Native()
		if err != nil {
			return false
		}
		grown := max(0, now.Mapped-before.Mapped)
		for size, n := range now.Sizes {
			grown += max(0, n-before.Sizes[size])
		}
		if grown <= maxNew(series.MinBlocksPerCall, calls) && now.Bytes-before.Bytes < int64(series.MinMappedPerCall*calls) {
			return true
		}
	}
	return false
}
