package alloc

import (
	"errors"
	"runtime"
	"runtime/metrics"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/refscan"
)

// What a recording takes: a trace begins with all objects that there are, and the deep stack of
// withRoomyStacks is copied as it grows, and doubles each time. Stacks and the trace are memory
// that the runtime cannot do without: if the system refuses it, the process ends.
const (
	tracedPerObject = 14 // bytes, measured with objects of several types
	stackCopies     = 4
	fixedBytes      = 8 << 20
	arenaBytes      = 64 << 20 // of address space, which the runtime takes at once
)

// A demand is the memory that a recording takes.
type demand struct {
	headroom.Need
	trace int // bytes of the trace before the calls
}

var limits headroom.System

// ask returns how much memory a recording takes. It is an error if there is not so much.
func ask() (d demand, err error) {
	sample := []metrics.Sample{{Name: "/gc/heap/objects:objects"}}
	metrics.Read(sample)
	d.trace = tracedPerObject * int(sample[0].Value.Uint64())
	all := int64(d.trace + stackCopies*deepStack() + fixedBytes)
	d.Need = headroom.Need{Resident: all, Private: all, Address: all + arenaBytes}
	if short := (*headroom.Shortage)(nil); errors.As(limits.Check(d.Need), &short) {
		all += all / 4 // the process's size differs from run to run
		short.Enough = short.Limit.Enough(headroom.Need{Resident: all, Private: all, Address: all + arenaBytes})
		return d, &refscan.UnavailableError{Cause: "there is not enough memory to count allocations", Remedy: short.Way(), Err: short}
	}
	return d, nil
}

// deepStack is the size in bytes of the deepest stack that a recording makes.
func deepStack() int {
	const mostGoroutines = 1000 // with more, new stacks are smaller: 64 MiB are enough
	return roomyStack * (1 + min(runtime.NumGoroutine(), mostGoroutines))
}
