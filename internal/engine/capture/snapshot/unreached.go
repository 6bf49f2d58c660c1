package snapshot

import (
	"bytes"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// Unreached are the objects of a process that another program stopped which its last collection
// found alive, and nothing leads to. If the scan missed no reference, the next collection finds
// them dead. An Unreached remains valid after its snapshot is closed.
type Unreached struct {
	objects []unreachedObject
}

type unreachedObject struct {
	span  *goruntime.Span // a copy that has only the span's address and layout
	index uint32
}

// Unreached returns these objects. It reads the heap, if that was not done before.
func (s *Snapshot) Unreached() (*Unreached, error) {
	graph, err := s.Heap()
	if err != nil {
		return nil, err
	}
	u := &Unreached{}
	var from, layout *goruntime.Span
	graph.Missed(func(span *goruntime.Span, index uint32) {
		if span.Sweeping() {
			return
		}
		if span != from {
			from, layout = span, &goruntime.Span{Base: span.Base, ElemSize: span.ElemSize, NElems: span.NElems}
		}
		u.objects = append(u.objects, unreachedObject{layout, index})
	})
	return u, nil
}

// AliveIn counts the objects that a later collection found alive. marks is a model with the marks
// of that collection (goruntime.LoadStoppedMarks). If it is not the next collection, other objects
// may lie at the same addresses.
func (u *Unreached) AliveIn(marks *goruntime.Model) (objects, bytes int64) {
	later := marksOf(marks)
	for _, o := range u.objects { // objects in spans that are being swept count as dead
		if later.alive(o.span, o.index) {
			objects++
			bytes += int64(o.span.ElemSize)
		}
	}
	return objects, bytes
}

// Cycles is how many collections the process had made by the snapshot, modulo 2^31.
func (s *Snapshot) Cycles() uint32 { return s.model.Cycles }

// marksOf copies the mark bits of each span, except spans whose marks are not known.
func marksOf(m *goruntime.Model) secondGCMarks {
	later := make(secondGCMarks, len(m.Spans))
	for i := range m.Spans {
		span := &m.Spans[i]
		if span.Sweeping() {
			continue
		}
		later[span.Base] = spanMarks{span.ElemSize, span.NElems, bytes.Clone(span.Marks())}
	}
	return later
}
