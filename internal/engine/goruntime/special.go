package goruntime

import (
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/image"
)

// SpecialKind is a kind of record that hangs on an object and is a root of the collector.
type SpecialKind uint8

// The kinds.
const (
	Finalizer  SpecialKind = iota // keeps Fn and what the object refers to, not the object
	Cleanup                       // keeps Fn, Call and Arg
	WeakHandle                    // keeps the handle, not the object
)

// A Special is a root that hangs on an object, or (with Obj NoObject) waits in a queue.
type Special struct {
	Kind       SpecialKind
	Obj        uint32 // NoObject for queued finalizers and cleanups
	Span       *Span
	Fn         uint64 // closure
	Call, Arg  uint64 // cleanups: adapter closure, argument; queued finalizers: Arg is the object
	ObjectType uint64 // finalizers: address of the object's pointer type
	Handle     uint64 // weak handles
}

// Specials calls visit for each finalizer, cleanup and weak handle, on objects in address order,
// then those queued to run (runtime/mgcmark.go, markroot and markrootSpans).
func (m *Model) Specials(visit func(Special)) error {
	l := &m.layouts
	var (
		oNext, oOffset, oKind = l.off("runtime.special", "next"), l.off("runtime.special", "offset"), l.off("runtime.special", "kind")
		oFinFn, oFinOt        = l.off("runtime.specialfinalizer", "fn"), l.off("runtime.specialfinalizer", "ot")
		oClean                = l.off("runtime.specialCleanup", "cleanup")
		oCall, oFn, oArg      = l.off("runtime.cleanupFn", "call"), l.off("runtime.cleanupFn", "fn"), l.off("runtime.cleanupFn", "arg")
		oHandle               = l.off("runtime.specialWeakHandle", "handle")
	)
	if l.err != nil {
		return l.err
	}
	mem := m.Mem
	// Specials are small records from shared chunks: fetch the chunks of all list heads at once.
	const chunk = 16 << 10
	var ranges []image.Range
	for i := range m.Spans {
		if a := m.Spans[i].specials; a != 0 {
			ranges = append(ranges, image.Range{Addr: a &^ (chunk - 1), Len: chunk})
		}
	}
	if _, err := mem.Load(ranges); err != nil {
		return err
	}
	for i := range m.Spans {
		s := &m.Spans[i]
		var list chain
		for a := s.specials; a != 0; a = mem.U64(a + oNext) {
			if list.returns(a) || mem.Err() != nil {
				return m.listError("a list of specials")
			}
			kind := mem.U8(a + oKind)
			if kind != m.sem.specialFinalizer && kind != m.sem.specialCleanup && kind != m.sem.specialWeakHandle {
				continue
			}
			k := s.index(s.Base + mem.U64(a+oOffset))
			if k >= s.NElems {
				return errors.New("a special points outside of its span")
			}
			sp := Special{Obj: s.FirstObj + k, Span: s}
			switch kind {
			case m.sem.specialFinalizer:
				sp.Kind, sp.Fn, sp.ObjectType = Finalizer, mem.U64(a+oFinFn), mem.U64(a+oFinOt)
			case m.sem.specialCleanup:
				sp.Kind = Cleanup
				sp.Call, sp.Fn, sp.Arg = mem.U64(a+oClean+oCall), mem.U64(a+oClean+oFn), mem.U64(a+oClean+oArg)
			case m.sem.specialWeakHandle:
				sp.Kind, sp.Handle = WeakHandle, mem.U64(a+oHandle)
			}
			visit(sp)
		}
		if mem.Err() != nil {
			return m.listError("a list of specials")
		}
	}
	if _, partial := m.names.(partialNames); partial {
		return nil
	}
	if err := m.queuedFinalizers(visit); err != nil {
		return err
	}
	return m.queuedCleanups(visit)
}

func (m *Model) queuedFinalizers(visit func(Special)) error {
	l := &m.layouts
	var (
		oAll, oCnt, oFin = l.off("runtime.finBlock", "alllink"), l.off("runtime.finBlock", "cnt"), l.off("runtime.finBlock", "fin")
		size             = l.size("runtime.finalizer")
		oFn, oArg, oOt   = l.off("runtime.finalizer", "fn"), l.off("runtime.finalizer", "arg"), l.off("runtime.finalizer", "ot")
		blockSize        = l.size("runtime.finBlock")
	)
	all, ok := m.names.GlobalByName("runtime.allfin")
	if !ok {
		l.fail("the variable runtime.allfin is not in the debug information")
	}
	if l.err != nil {
		return l.err
	}
	mem := m.Mem
	var list chain
	for b := mem.U64(all.Addr + m.bias); b != 0; b = mem.U64(b + oAll) {
		cnt := uint64(mem.U32(b + oCnt))
		if list.returns(b) || mem.Err() != nil || cnt > blockSize/size {
			return m.listError("the queue of finalizers")
		}
		for i := uint64(0); i < cnt; i++ {
			f := b + oFin + i*size
			visit(Special{Kind: Finalizer, Obj: NoObject, Fn: mem.U64(f + oFn), Arg: mem.U64(f + oArg), ObjectType: mem.U64(f + oOt)})
		}
	}
	if mem.Err() != nil {
		return m.listError("the queue of finalizers")
	}
	return nil
}

func (m *Model) queuedCleanups(visit func(Special)) error {
	l := &m.layouts
	var (
		oAll             = l.off("runtime.cleanupQueue", "all")
		oLink            = l.off("runtime.cleanupBlock", "cleanupBlockHeader.alllink")
		oN               = l.off("runtime.cleanupBlock", "cleanupBlockHeader.n")
		oList            = l.off("runtime.cleanupBlock", "cleanups")
		size             = l.size("runtime.cleanupFn")
		blockSize        = l.size("runtime.cleanupBlock")
		oCall, oFn, oArg = l.off("runtime.cleanupFn", "call"), l.off("runtime.cleanupFn", "fn"), l.off("runtime.cleanupFn", "arg")
	)
	q, ok := m.names.GlobalByName("runtime.gcCleanups")
	if !ok {
		l.fail("the variable runtime.gcCleanups is not in the debug information")
	}
	if l.err != nil {
		return l.err
	}
	mem := m.Mem
	var list chain
	for b := mem.U64(q.Addr + m.bias + oAll); b != 0; b = mem.U64(b + oLink) {
		cnt := uint64(mem.U32(b + oN))
		if list.returns(b) || mem.Err() != nil || cnt > blockSize/size {
			return m.listError("the queue of cleanups")
		}
		for i := uint64(0); i < cnt; i++ {
			c := b + oList + i*size
			visit(Special{Kind: Cleanup, Obj: NoObject, Call: mem.U64(c + oCall), Fn: mem.U64(c + oFn), Arg: mem.U64(c + oArg)})
		}
	}
	if mem.Err() != nil {
		return m.listError("the queue of cleanups")
	}
	return nil
}

func (m *Model) listError(list string) error {
	if err := m.Mem.Err(); err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	return errors.New(list + " does not end, or a part of it claims too many")
}
