package alloc

import (
	"runtime"
	"sync"
)

// Stacks that grow at the wrong moment crash Go 1.26 and 1.27. An event of the tracer that finds
// its buffer full hands the buffer on and takes a new one (go1.27.3 runtime/tracebuf.go, refill). If
// the goroutine's stack has to grow just then, that is an event, too, which hands the same buffer on
// once more; it is freed twice when the trace ends (runtime/trace.go, traceAdvance). What keeps
// clear of it, in all versions:
//
//   - The goroutine that calls op has a stack with room (growStack), and a thread of its own, whose
//     buffer is the one that the trace's start has filled to some degree.
//   - Goroutines that start meanwhile begin with a stack with room (withRoomyStacks).
//   - Goroutines that were there before run on other threads. Their buffers begin empty, and do not
//     fill where no more is allocated than spared (see fewEnough).

// roomyStack is how much stack goroutines are to begin with, in bytes. Calls of op, and what these
// start, rarely need more.
const roomyStack = 32 << 10

// withRoomyStacks has goroutines start with large stacks from the next garbage collection on, until
// the first one after the end: each collection makes the mean of what all goroutines use the size of
// new ones' stacks (go1.26, go1.27: runtime/stack.go, gcComputeStartingStackSize). A goroutine that
// uses much raises it.
func withRoomyStacks() (end func()) {
	const mostGoroutines = 1000 // beyond, stacks are smaller: 64 MiB are enough
	deep := roomyStack * (1 + min(runtime.NumGoroutine(), mostGoroutines))
	parked, release := make(chan struct{}), make(chan struct{})
	go useStack(deep, func() {
		close(parked)
		<-release
	})
	<-parked
	return sync.OnceFunc(func() { close(release) })
}

// growStack makes room on the stack of the goroutine that calls it. It lasts until a garbage
// collection that finds most of it unused.
func growStack() { useStack(2*roomyStack, func() {}) }

// useStack calls f with so many bytes of stack in use.
//
//go:noinline
func useStack(bytes int, f func()) {
	var room [1024]byte
	if bytes <= len(room) {
		f()
		return
	}
	useStack(bytes-len(room), f)
	runtime.KeepAlive(&room)
}

// spared is how many allocations do not fill a thread's buffer of 64 KiB: an event takes 10 bytes or
// so.
const spared = 4000

// fewEnough is how often op is called in a recording where one call of it allocates so many objects,
// whichever goroutine does, by mallocs.
func fewEnough(calls int, objects uint64) int {
	if objects == 0 {
		return calls
	}
	return min(calls, max(minCalls, int(spared/objects)))
}

// mallocs is how many objects the program has ever allocated. To ask stops the world.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
