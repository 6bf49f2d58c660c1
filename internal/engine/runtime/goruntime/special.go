package goruntime

import (
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// SpecialKind is a kind of special record that is a root of the collector.
type SpecialKind uint8

// The kinds.
const (
	Finalizer  SpecialKind = iota // keeps Fn and the object's referents alive, not the object
	Cleanup                       // keeps Fn, Call and Arg alive
	WeakHandle                    // keeps the handle alive, not the object
)

// A Special is a root that belongs to an object, or (with Obj goruntime.NoObject) waits in a queue.
type Special struct {
	Kind       SpecialKind
	Obj        uint32 // goruntime.NoObject for queued finalizers and cleanups
	Span       *Span
	Fn         uint64 // closure
	Call, Arg  uint64 // cleanups: adapter closure, argument; queued finalizers: Arg is the object
	ObjectType uint64 // finalizers: address of the object's pointer type
	Handle     uint64 // weak handles
}

// EachSpecial calls visit for each finalizer, cleanup and weak handle: first those of objects, in
// address order, then the queued ones (runtime/mgcmark.go, markroot and markrootSpans).
func EachSpecial(m *Model, visit func(Special)) error {
	var at rtlayout.Special
	var finalizers rtlayout.Finalizers
	var cleanups rtlayout.Cleanups
	l := m.Fields()
	l.Fill(&at, &finalizers, &cleanups)
	if l.Err() != nil {
		return l.Err()
	}
	mem := m.Mem
	// Specials are small records from shared chunks: fetch the chunks of all list heads at once.
	const chunk = 16 << 10
	var ranges []image.Range
	for i := range m.Spans {
		if a := m.Spans[i].Specials; a != 0 {
			ranges = append(ranges, image.Range{Addr: a &^ (chunk - 1), Len: chunk})
		}
	}
	if _, err := mem.Load(ranges); err != nil {
		return err
	}
	for i := range m.Spans {
		s := &m.Spans[i]
		var list image.Chain
		for a := s.Specials; a != 0; a = mem.U64(a + at.Next) {
			if list.Returns(a) || mem.Err() != nil {
				return listError(m, "a list of specials")
			}
			kind := mem.U8(a + at.Kind)
			if kind != m.Semantics.Finalizer && kind != m.Semantics.Cleanup && kind != m.Semantics.WeakHandle {
				continue
			}
			k := s.Index(s.Base + mem.U64(a+at.Offset))
			if k >= s.NElems {
				return errors.New("a special points outside of its span")
			}
			sp := Special{Obj: s.FirstObj + k, Span: s}
			switch kind {
			case m.Semantics.Finalizer:
				sp.Kind, sp.Fn, sp.ObjectType = Finalizer, mem.U64(a+at.Fn), mem.U64(a+at.Type)
			case m.Semantics.Cleanup:
				sp.Kind = Cleanup
				c := a + at.Cleanup
				sp.Call, sp.Fn, sp.Arg = mem.U64(c+cleanups.Call), mem.U64(c+cleanups.Fn), mem.U64(c+cleanups.Arg)
			case m.Semantics.WeakHandle:
				sp.Kind, sp.Handle = WeakHandle, mem.U64(a+at.Handle)
			}
			visit(sp)
		}
		if mem.Err() != nil {
			return listError(m, "a list of specials")
		}
	}
	f, c := &finalizers, &cleanups
	q := queue{name: "the queue of finalizers", link: f.Next, count: f.Count, records: f.Records, size: f.Size, most: f.BlockSize / f.Size}
	if err := q.each(m, mem.U64(f.First), func(a uint64) {
		visit(Special{Kind: Finalizer, Obj: NoObject, Fn: mem.U64(a + f.Fn), Arg: mem.U64(a + f.Arg), ObjectType: mem.U64(a + f.Type)})
	}); err != nil {
		return err
	}
	q = queue{name: "the queue of cleanups", link: c.Next, count: c.Count, records: c.Records, size: c.Size, most: c.BlockSize / c.Size}
	return q.each(m, mem.U64(c.First), func(a uint64) {
		visit(Special{Kind: Cleanup, Obj: NoObject, Call: mem.U64(a + c.Call), Fn: mem.U64(a + c.Fn), Arg: mem.U64(a + c.Arg)})
	})
}

// A queue is a linked list of blocks of records: offsets in a block, the size of a record, and the
// largest number of records in a block.
type queue struct {
	name                             string
	link, count, records, size, most uint64
}

// each calls visit with the address of each record, from the first block on.
func (q *queue) each(m *Model, first uint64, visit func(record uint64)) error {
	mem := m.Mem
	var list image.Chain
	for b := first; b != 0; b = mem.U64(b + q.link) {
		n := uint64(mem.U32(b + q.count))
		if list.Returns(b) || mem.Err() != nil || n > q.most {
			return listError(m, q.name)
		}
		for i := range n {
			visit(b + q.records + i*q.size)
		}
	}
	if mem.Err() != nil {
		return listError(m, q.name)
	}
	return nil
}

func listError(m *Model, list string) error {
	if err := m.Mem.Err(); err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	return errors.New(list + " does not end, or a part of it claims too many")
}
