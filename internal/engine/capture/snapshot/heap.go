package snapshot

import (
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
)

// Withheld returns an error if the kernel keeps heap memory from the frozen process.
func (s *Snapshot) Withheld() error {
	if s.inPlace {
		return nil
	}
	spans := make([]freeze.Range, 0, len(s.model.Spans))
	for i := range s.model.Spans {
		if span := &s.model.Spans[i]; !span.NoScan {
			spans = append(spans, freeze.Range{Addr: span.Base, Len: span.Size})
		}
	}
	return withheldError(freeze.NotForked(spans))
}

// Heap types the objects of the snapshot, once.
func (s *Snapshot) Heap() (*typedheap.Heap, error) {
	if err := s.Opened(); err != nil || s.graph != nil {
		return s.graph, err
	}
	if s.stopped != nil {
		f := heapNeeds(s.model, Queries{})
		f.note()
	}
	if err := checkMemory(need(0, leastPerSlot*int64(s.model.NumObjects), 0)); err != nil {
		return nil, err
	}
	graph, err := typedheap.Build(s.model, s.index, typedheap.Options{Own: s.stopped == nil, Modules: s.Program().Modules})
	if err != nil {
		return nil, HeapError(err)
	}
	s.graph = graph
	return graph, nil
}
