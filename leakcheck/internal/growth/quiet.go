package growth

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// maxCounts is how often a proof counts before it gives up.
const maxCounts = 4

// awaitEnds waits a moment for goroutines and the like that are about to end. With i == 0 it only
// yields: a goroutine that sleeps gets a timer, and keeps it for good.
func awaitEnds(a *assertion.Assertion, i int) {
	if i > 0 {
		a.Sleep(time.Duration(i) * 100 * time.Microsecond)
		return
	}
	const yields = 100
	for range yields {
		runtime.Gosched()
	}
}

// maxNew returns how many new things a proof allows after so many calls: even one more would be
// less than a leak of the given rate leaves.
func maxNew(perCall float64, calls int) int64 {
	return int64(max(0, math.Ceil(perCall*float64(calls)-1)-1))
}

// provesResources reports whether the resources that are new since before are fewer than a leak of
// the smallest rate would leave in so many calls. It waits a moment for resources that are about to
// go, and collects garbage once more: stacks that goroutines have left go with it.
func provesResources(ctx context.Context, a *assertion.Assertion, before *ledger.Glance, calls int) bool {
	for i := range maxCounts {
		if i > 0 {
			awaitEnds(a, i)
		}
		if i == 1 && observe.Collect(ctx) != nil {
			return false
		}
		now, err := before.Again()
		if err != nil {
			return false
		}
		if fewResources(now.NewSince(before), calls) {
			return true
		}
	}
	return false
}

// fewResources reports whether so few resources are new after the calls that none of them can be a
// leak.
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
			continue // no glance includes them: see provesNative
		}
		if grown[k] > allowed {
			return false
		}
	}
	return true
}

// provesNative reports whether C code's memory has grown since before by less than a leak of the
// smallest rate would leave in so many calls. Each size counts by itself: fewer blocks of one size
// do not make up for more of another.
func provesNative(a *assertion.Assertion, before *native.Heap, calls int) bool {
	for i := range maxCounts {
		if i > 0 {
			awaitEnds(a, i)
		}
		now, err := a.Native.Take()
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
