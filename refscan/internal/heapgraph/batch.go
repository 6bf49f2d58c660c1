package heapgraph

import (
	"sync/atomic"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// A batch is references that are looked at together. What each leads to is read first, one right after the other, so that the processor
// waits for the memory of all of them at once and not for each in turn.
type batch struct {
	g     *Graph
	take  func(e *edge, s *goruntime.Span, obj uint32)
	masks bool // take looks at masks, too
	n     int
	all   [batchLen]target
	read  uint64 // is of no use
}

const batchLen = 32

// A target is what a reference leads to.
type target struct {
	edge
	s   *goruntime.Span
	obj uint32
	_   [0]func() // is not compared
}

// add adds a reference. It is taken when there are enough of them, or by flush.
func (b *batch) add(e edge) {
	b.all[b.n].edge = e
	if b.n++; b.n == batchLen {
		b.flush()
	}
}

// flush takes the references that there are.
//
//go:noinline
func (b *batch) flush() {
	all := b.all[:b.n]
	for i := range all {
		t := &all[i]
		if t.s, t.obj = b.g.m.Object(t.to); t.s != nil {
			b.read += atomic.LoadUint64(&b.g.typing[t.obj])
			if b.masks {
				b.read += uint64(t.s.FetchMask(t.obj))
			}
		}
	}
	for i := range all {
		b.take(&all[i].edge, all[i].s, all[i].obj)
	}
	b.n = 0
}
