// Package gcwatch tells of the garbage collections of this process, and how much each found alive.
package gcwatch

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
)

// A Watch says when mark phases have ended. It is told by a finalizer that sets itself again: the
// sweep that follows each mark phase finds its object, which nothing refers to, and queues it. That
// costs nothing between collections. After a mark phase it takes some 0.1 ms, and some
// milliseconds where all processors are busy; cleanups (runtime.AddCleanup) take 100 ms then, since
// the runtime passes them on in blocks (Go 1.26.8 with 200 MB in small objects, two processors).
//
// The runtime has one goroutine for all finalizers. Where one of the program's own takes long,
// those told of are fewer; Cycle.Number tells how many were left out. One that never returns keeps
// all others from running, so that who must know asks Last from time to time, too.
type Watch struct {
	ended   chan struct{}
	stopped atomic.Bool
}

// A sentinel is never referred to, but by its finalizer while that runs. It has a pointer, so that
// it lies in a block of its own.
type sentinel struct{ watch *Watch }

// notified counts the finalizers of this package that have run.
var notified atomic.Uint64

// Notified is how many finalizers of watches have run: a program that is watched is at rest all the
// same.
func Notified() uint64 { return notified.Load() }

// Start begins to watch. The first mark phase that is told of begins after that.
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
	default: // who watches has yet to read the one before
	}
}

// Ended has a value when one or several mark phases have ended since the value before.
func (w *Watch) Ended() <-chan struct{} { return w.ended }

// Stop ends the watch. Its channel stays open.
func (w *Watch) Stop() { w.stopped.Store(true) }

// A Cycle is a garbage collection.
type Cycle struct {
	Number uint64 // of those that have ended in this process, from 1
	// Live is the size in bytes of all objects that the mark phase found alive, by size class. What
	// was allocated while it marked counts as alive, garbage or not (go1.26 runtime/malloc.go,
	// gcmarknewobject).
	Live uint64
}

// A Reader reads the runtime's counters. It is for one goroutine at a time; a reading allocates
// nothing but the first, and takes 2 microseconds.
type Reader struct{ samples []metrics.Sample }

// NewReader makes a Reader.
func NewReader() *Reader {
	return &Reader{[]metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"},
	}}
}

// Last is the collection that ended last, and allocated how many bytes the program has allocated
// since it began, without what its processors have taken out of the heap's spans since they last
// changed these. A collection that ends in this very moment may have its size beside the number of
// the one before.
func (r *Reader) Last() (last Cycle, allocated uint64) {
	metrics.Read(r.samples)
	return Cycle{r.value(0), r.value(1)}, r.value(2)
}

func (r *Reader) value(i int) uint64 {
	if v := r.samples[i].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0 // of a newer Go that has no such metric
}
