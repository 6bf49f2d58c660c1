package refscan

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"

	"github.com/leakgate/leakgate/refscan/internal/freeze"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
	"github.com/leakgate/leakgate/refscan/internal/heapgraph"
	"github.com/leakgate/leakgate/refscan/internal/image"
)

// laterMarks are what the collection after a snapshot found alive: the mark bits of each span, by its address. The
// mark bits of the snapshot itself are those of the collection before it. Where a program goes on working, some of what
// that found alive is garbage when the process is frozen, and freezing drops what processors cache; the next
// collection finds such objects dead.
type laterMarks map[uint64]spanMarks

type spanMarks struct {
	elemSize uint64
	objects  uint32
	bits     []byte
}

// freezeTwice freezes the process, lets it collect garbage and freezes it again. In between, the runtime collects nothing by
// itself: memory that the second collection frees may be used again, and a third would take what is there then for what
// was there before. The second process is nil if that cannot be had.
func freezeTwice(ctx context.Context) (first, second *freeze.Process, err error) {
	percent := debug.SetGCPercent(-1)
	defer debug.SetGCPercent(percent)
	if first, err = freeze.Take(); err != nil || collect(ctx) != nil {
		return first, nil, err
	}
	second, _ = freeze.Take()
	return first, second, nil
}

// readLater reads the mark bits of the second process. Without an error, it leaves it at that if there was yet another
// collection, as a memory limit may cause.
func (s *Snapshot) readLater(second *freeze.Process) {
	now, err := goruntime.LoadMarks(image.NewSpace(second), s.names, s.model.Bias(), runtime.GOARCH)
	if err != nil || now.Cycles-s.model.Cycles != 1 {
		return
	}
	s.later = make(laterMarks, len(now.Spans))
	for i := range now.Spans {
		span := &now.Spans[i]
		s.later[span.Base] = spanMarks{span.ElemSize, span.NElems, bytes.Clone(span.Marks())}
	}
}

// excuse takes out of the totals what was missed and found dead by the collection after the snapshot.
func (l laterMarks) excuse(graph *heapgraph.Graph, t *Totals) {
	graph.Missed(func(span *goruntime.Span, index uint32) {
		if l.alive(span, index) {
			return
		}
		t.MissedBytes -= int64(span.ElemSize)
		t.LiveBytes -= int64(span.ElemSize)
		t.LiveObjects--
	})
}

// alive reports whether the collection after the snapshot found an object alive. If other objects lie there by now, in a span of another
// layout, it did not. Objects of one size are more to a span if they have no pointers, whose bits take room in it.
func (l laterMarks) alive(span *goruntime.Span, index uint32) bool {
	m, ok := l[span.Base]
	return ok && m.elemSize == span.ElemSize && m.objects == span.NElems && m.bits[index>>3]>>(index&7)&1 != 0
}
