package goruntime

import (
	"errors"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// maxProfileDepth bounds the stacks of allocation records (go1.26 runtime/mprof.go,
// maxProfStackDepth).
const maxProfileDepth = 1024

// AllocationRecords calls visit for each object whose allocation the memory profiler has recorded
// (runtime/mprof.go), with the bucket that holds the allocation's stack.
func AllocationRecords(m *Model, visit func(obj uint32, bucket uint64)) error {
	var at rtlayout.Special
	l := m.Fields()
	l.Fill(&at)
	if l.Err() != nil {
		return l.Err()
	}
	mem := m.Mem
	for i := range m.Spans {
		s := &m.Spans[i]
		var list image.Chain
		for a := s.Specials; a != 0; a = mem.U64(a + at.Next) {
			if list.Returns(a) || mem.Err() != nil {
				return listError(m, "a list of specials")
			}
			if mem.U8(a+at.Kind) != m.Semantics.Profile {
				continue
			}
			if k := s.Index(s.Base + mem.U64(a+at.Offset)); k < s.NElems {
				visit(s.FirstObj+k, mem.U64(a+at.Bucket))
			}
		}
	}
	return mem.Err()
}

// AllocationStack returns the return addresses of a bucket's stack, the innermost first. They
// follow the bucket in memory.
func AllocationStack(m *Model, bucket uint64) ([]uint64, error) {
	var at rtlayout.Bucket
	l := m.Fields()
	l.Fill(&at)
	if l.Err() != nil {
		return nil, l.Err()
	}
	n := m.Mem.U64(bucket + at.Depth)
	if n > maxProfileDepth {
		return nil, errors.New("an allocation record is damaged: impossible depth")
	}
	stack := make([]uint64, n)
	for i := range stack {
		stack[i] = m.Mem.U64(bucket + at.Size + 8*uint64(i))
	}
	return stack, m.Mem.Err()
}
