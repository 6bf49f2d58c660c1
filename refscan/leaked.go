package refscan

import (
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/heap/live"
)

// A LeakedGoroutine is a goroutine that is blocked for ever. HeapObjects and HeapBytes are what it
// keeps alive besides its stack, in size-class bytes: the objects reached from it, but neither from
// anything that may run nor from a leaked goroutine before it in the list. They include the object
// that it waits for.
type LeakedGoroutine struct {
	*GoroutineStack
	HeapObjects, HeapBytes int64
}

// LeakedGoroutines finds the goroutines that are blocked for ever: each waits for a channel, a
// select of channels, a mutex, a wait group or a condition that neither a package variable, a
// finalizer, a cleanup, a timer nor a goroutine that may run reaches, or for a nil channel or an
// empty select. The main goroutine in an empty select does not count: that is how servers wait. The
// result is in the runtime's order of goroutines.
//
// This is the definition of the runtime's goroutineleak profile (go1.27, and go1.26 with
// GOEXPERIMENT=goroutineleakprofile), without a collection in this process. There are three
// differences. The profile never reports a goroutine in a bubble of testing/synctest. If the
// blocked goroutine deferred calls in a loop, the profile treats what these calls refer to as
// reachable. The profile also treats as reachable what holds the value that the goroutine sends: in
// go func() { c <- v }() that is the closure, which holds the channel, so the profile finds no such
// goroutine. Neither finds a goroutine that waits for something reachable that nobody will use. A
// weak pointer does not make its target reachable.
//
// It takes time in proportion to the live heap and to the goroutines' frames. Every failure is an
// *UnavailableError.
func (s *Snapshot) LeakedGoroutines() (_ []*LeakedGoroutine, err error) {
	stacks, err := s.Stacks()
	if err != nil {
		return nil, err
	}
	defer public(&err)
	defer snapshot.Guard(&err)()
	found, err := live.Leaked(s.in().Model())
	if err != nil {
		return nil, snapshot.HeapError(err)
	}
	var leaked []*LeakedGoroutine
	for _, l := range found {
		g := stacks.Goroutines[l.Index]
		if g.Entry == "runtime.main" && g.WaitReason == "select (no cases)" {
			continue
		}
		leaked = append(leaked, &LeakedGoroutine{GoroutineStack: g, HeapObjects: l.Objects, HeapBytes: l.Bytes})
	}
	return leaked, nil
}
