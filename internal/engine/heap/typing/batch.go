package typing

import (
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// A Batch is references that are processed together. It first reads the typings of all targets, one
// right after the other, so that the processor waits for the memory of all of them at once and not
// for each in turn.
type Batch struct {
	M       *goruntime.Model
	Typings Table
	Take    func(e *heaptype.Edge, s *goruntime.Span, obj uint32)
	Masks   bool // Take reads pointer masks, too
	n       int
	all     [batchLen]target
	read    uint64 // sum of the values read; unused
}

const batchLen = 32

// A target is a reference and the object it leads to.
type target struct {
	heaptype.Edge
	s   *goruntime.Span
	obj uint32
	_   [0]func() // is not compared
}

// Adder returns a function that adds a reference. A full batch, or Flush, calls Take for it.
//
//go:norace
func (b *Batch) Adder() func(heaptype.Edge) {
	return func(e heaptype.Edge) {
		// Field by field: to copy all at once, the processor would wait until the fields, which are
		// just being written, are in the cache.
		t := &b.all[b.n]
		t.Ref, t.Fn, t.To, t.Size, t.Type = e.Ref, e.Fn, e.To, e.Size, e.Type
		t.Layout, t.Confidence, t.Inner, t.Slack = e.Layout, e.Confidence, e.Inner, e.Slack
		if b.n++; b.n == batchLen {
			b.Flush()
		}
	}
}

// Flush calls Take for the references in the batch, and empties it.
//
//go:norace
func (b *Batch) Flush() {
	all := b.all[:b.n]
	for i := range all {
		t := &all[i]
		if t.s, t.obj = b.M.Object(t.To); t.s != nil {
			b.read += uint64(b.Typings.Fetch(t.obj))
			if b.Masks {
				b.read += uint64(t.s.FetchMask(t.obj))
			}
		}
	}
	for i := range all {
		b.Take(&all[i].Edge, all[i].s, all[i].obj)
	}
	b.n = 0
}
