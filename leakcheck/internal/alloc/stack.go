package alloc

import (
	"runtime"
	"sync"
)

// Stacks that grow at the wrong moment crash Go 1.26 and 1.27. A tracer event that finds its buffer
// full hands the buffer on and takes a new one (go1.27.3 runtime/tracebuf.go, refill). If the
// goroutine's stack has to grow just then, that is an event, too, which hands the same buffer on
// once more. The buffer is freed twice when the trace ends (runtime/trace.go, traceAdvance). These
// measures avoid that, in all versions:
//
//   - The goroutine that calls op has spare stack (growStack), and a thread of its own, whose
//     buffer is the one that the trace's start has filled to some degree.
//   - Goroutines that start meanwhile begin with a large stack (withRoomyStacks).
//   - Goroutines from before run on other threads. Their buffers begin empty, and do not fill if no
//     more is allocated than spared (see fewEnough).

// roomyStack is how much stack goroutines should begin with, in bytes. Calls of op, and goroutines
// that these start, rarely need more.
const roomyStack = 32 << 10

// withRoomyStacks makes goroutines start with large stacks from the next garbage collection on,
// until the first one after end. Each collection makes the mean stack use of all goroutines the
// size of new stacks (go1.26, go1.27: runtime/stack.go, gcComputeStartingStackSize). A goroutine
// that uses much stack raises that mean.
func withRoomyStacks() (end func()) {
	deep := deepStack()
	parked, release := make(chan struct{}), make(chan struct{})
	go useStack(deep, func() {
		close(parked)
		<-release
	})
	<-parked
	return sync.OnceFunc(func() { close(release) })
}

// growStack enlarges the stack of the calling goroutine. It lasts until a garbage collection finds
// most of the stack unused.
func growStack() { useStack(2*roomyStack, func() {}) }

// useStack calls f with at least the given number of bytes of stack in use.
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

// spared is a number of allocations that does not fill a thread's buffer of 64 KiB: an event takes
// about 10 bytes.
const spared = 4000

// fewEnough limits the calls of op in a recording, given how many objects one call makes all
// goroutines allocate, by mallocs.
func fewEnough(calls int, objects uint64) int {
	if objects == 0 {
		return calls
	}
	return min(calls, max(minCalls, int(spared/objects)))
}

// mallocs is the number of objects that the program has ever allocated. It stops the world.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
