package peak

import (
	"runtime"
	"runtime/debug"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

const (
	// leastPercent is the lowest GC percentage that is set. It bounds the cost of the collections
	// that come sooner than with the program's setting.
	leastPercent = 10
	// samples is how many samples the memory profiler is to take, on average, of as many bytes as
	// the bound allows.
	samples = 64
	// leastRate is the lowest rate of the profiler that is set, in bytes for each sample. It bounds
	// the cost of samples.
	leastRate = 4 << 10
)

// sharedSettings is the state that assertions which run at the same time share. snapshot.Turn
// guards it, since captures change the same settings for a moment.
var sharedSettings struct {
	users int
	undo  []func()
}

// watchClosely makes the runtime collect garbage whenever the heap grows by half of the bound, so
// that a larger peak does not go unseen. It also makes the memory profiler take more samples,
// unless go test is to write a profile in the end. undo restores both settings, unless the program
// has changed them meanwhile. A program that turned collections off keeps them off.
func watchClosely(most, live int64, profileWritten bool) (undo func()) {
	defer snapshot.Turn()()
	if sharedSettings.users++; sharedSettings.users == 1 {
		sharedSettings.undo = append(sharedSettings.undo, lowerPercent(int(min(max(50*most/max(live, 1), leastPercent), 100))))
		rate := int(min(max(most/samples, leastRate), 1<<30))
		if !profileWritten && runtime.MemProfileRate > rate {
			sharedSettings.undo = append(sharedSettings.undo, observe.SetMemProfileRate(rate))
		}
	}
	return func() {
		defer snapshot.Turn()()
		if sharedSettings.users--; sharedSettings.users == 0 {
			for _, undo := range sharedSettings.undo {
				undo()
			}
			sharedSettings.undo = nil
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
