package peak

import (
	"runtime"
	"runtime/debug"

	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/leakcheck/internal/memprofile"
)

const (
	// leastPercent bounds what collections cost that come sooner than the program's setting says.
	leastPercent = 10
	// samples is how many the memory profiler is to take, on average, of as much as the bound
	// allows.
	samples = 64
	// leastRate bounds what they cost: one is taken of so many bytes at most.
	leastRate = 4 << 10
)

// closely is the state that assertions which run at the same time share. It is changed in
// turn with captures, which change the same settings for a moment.
var closely struct {
	users int
	undo  []func()
}

// watchClosely has the runtime collect garbage whenever the heap grows by half of the bound, so
// that more than that does not come and go unseen, and the memory profiler take more samples, until
// it is undone. What the program itself sets meanwhile stays. A program that turned collections off
// keeps them off. Where go test is to write a profile in the end, the profiler is left alone.
func watchClosely(most, live int64, profileWritten bool) (undo func()) {
	defer snapshot.Turn()()
	if closely.users++; closely.users == 1 {
		closely.undo = append(closely.undo, lowerPercent(int(min(max(50*most/max(live, 1), leastPercent), 100))))
		rate := int(min(max(most/samples, leastRate), 1<<30))
		if !profileWritten && runtime.MemProfileRate > rate {
			closely.undo = append(closely.undo, memprofile.SetRate(rate))
		}
	}
	return func() {
		defer snapshot.Turn()()
		if closely.users--; closely.users == 0 {
			for _, undo := range closely.undo {
				undo()
			}
			closely.undo = nil
		}
	}
}

func lowerPercent(to int) (undo func()) {
	was := debug.SetGCPercent(to)
	if was <= to {
		debug.SetGCPercent(was)
		return func() {}
	}
	return func() {
		if now := debug.SetGCPercent(was); now != to {
			debug.SetGCPercent(now)
		}
	}
}
