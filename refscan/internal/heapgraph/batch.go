package heapgraph

import (
	"sync/atomic"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// A batch is references that are looked at together. What each leads to is read first, one right after the other, so that the processor
// waits for the memory of all of them at once and not for each in turn.
type batch struct {
	n     int
	edges [batchLen]edge
	spans [batchLen]*goruntime.Span // what they lead to, once they were found
	objs  [batchLen]uint32
	read  uint64 // is of no use
}

const batchLen = 32

// add reports whether the batch is full.
func (b *batch) add(e *edge) bool {
	b.edges[b.n] = *e
	b.n++
	return b.n == batchLen
}

// find finds the objects and reads their typings.
func (b *batch) find(g *Graph) {
	for i := range b.edges[:b.n] {
		s, obj := g.m.Object(b.edges[i].to)
		b.spans[i], b.objs[i] = s, obj
		if s != nil {
			b.read += atomic.LoadUint64(&g.typing[obj])
		}
	}
}
