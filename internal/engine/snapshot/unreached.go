package snapshot

import (
	"bytes"

	"github.com/leakgate/leakgate/internal/engine/goruntime"
)

// Unreached are the objects of a process that something else stopped which its last collection
// found alive, and nothing leads to. The next collection finds them dead, if nothing was missed. It
// does not need the snapshot any more.
type Unreached struct {
	objects []unreachedObject
}

type unreachedObject struct {
	span  *goruntime.Span // where it lies and its layout alone
	index uint32
}

// Unreached reads the heap, if that was not done before.
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

// AliveIn counts those that a later collection found alive, whose marks a model has (goruntime.LoadStoppedMarks). If
// it is not the next one, others may lie there by now.
func (u *Unreached) AliveIn(marks *goruntime.Model) (objects, bytes int64) {
	later := marksOf(marks)
	for _, o := range u.objects { // what is being swept is not told apart
		if later.alive(o.span, o.index) {
			objects++
			bytes += int64(o.span.ElemSize)
		}
	}
	return objects, bytes
}

// Cycles is how many collections the process had until the snapshot, modulo 2^31.
func (s *Snapshot) Cycles() uint32 { return s.model.Cycles }

// marksOf leaves out the spans whose marks are not known.
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
