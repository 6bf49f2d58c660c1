// Package gcwatch reports garbage collections, and how many bytes each found alive: those of this
// process by a finalizer and the runtime's metrics (Watch, Reader), or those of any program by the
// collector's counters, which it reads in place (Counters). It stops nothing.
package gcwatch

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
)

// A Watch reports when mark phases have ended. A finalizer that sets itself again tells it: nothing
// refers to the finalizer's object, so the sweep after each mark phase queues the finalizer. That
// costs nothing between collections. After a mark phase the report takes some 0.1 ms, and some
// milliseconds if all processors are busy; cleanups (runtime.AddCleanup) take 100 ms then, since
// the runtime passes them on in blocks (Go 1.26.8 with 200 MB in small objects, two processors).
//
// The runtime has one goroutine for all finalizers. If a finalizer of the program takes long, some
// collections are not reported; Cycle.Number shows how many. A finalizer that never returns keeps
// all others from running. A caller that must not miss a collection calls Last from time to time,
// too.
type Watch struct {
	ended   chan struct{}
	stopped atomic.Bool
}

// A sentinel is the object of that finalizer. Nothing but the running finalizer refers to it. It
// has a pointer, so that it lies in a block of its own.
type sentinel struct{ watch *Watch }

// notified counts the finalizers of this package that have run.
var notified atomic.Uint64

// Notified is how many finalizers of watches have run. Settling subtracts them: a program that is
// watched may still be at rest.
func Notified() uint64 { return notified.Load() }

// Start begins to watch. The first mark phase that the watch reports begins after the call.
func Start() *Watch {
	w := &Watch{ended: make(chan struct{}, 1)}
	runtime.SetFinalizer(&sentinel{w}, (*sentinel).swept)
	return w
}

func (s *sentinel) swept() {
	notified.Add(1)
	if s.watch.stopped.Load() {
		return
	}
	runtime.SetFinalizer(s, (*sentinel).swept)
	select {
	case s.watch.ended <- struct{}{}:
	default: // the receiver has yet to read the value before
	}
}

// Ended has a value when one or several mark phases have ended since the value before.
func (w *Watch) Ended() <-chan struct{} { return w.ended }

// Stop ends the watch. Its channel stays open.
func (w *Watch) Stop() { w.stopped.Store(true) }

// A Cycle is a garbage collection.
type Cycle struct {
	Number uint64 // number of collections that have ended in this process, from 1
	// Live is the size in bytes of all objects that the mark phase found alive, by size class.
	// Objects that were allocated while it marked count as alive, garbage or not (go1.26
	// runtime/malloc.go, gcmarknewobject).
	Live uint64
}

// A Reader reads the runtime's counters. It is for one goroutine at a time. A reading takes 2
// microseconds, and only the first one allocates.
type Reader struct{ samples []metrics.Sample }

// NewReader makes a Reader.
func NewReader() *Reader {
	return &Reader{[]metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"},
	}}
}

// Last returns the collection that ended last, and how many bytes the program has allocated since
// its start. allocated leaves out the memory that each processor has used of its current spans
// since it took them. If a collection ends at this very moment, Last may return its size with the
// number of the one before.
func (r *Reader) Last() (last Cycle, allocated uint64) {
	metrics.Read(r.samples)
	return Cycle{r.value(0), r.value(1)}, r.value(2)
}

func (r *Reader) value(i int) uint64 {
	if v := r.samples[i].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0 // a newer Go may have no such metric
}
