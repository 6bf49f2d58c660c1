package goruntime

import "errors"

// maxProfileDepth bounds the stacks of allocation records (go1.26 runtime/mprof.go,
// maxProfStackDepth).
const maxProfileDepth = 1024

// AllocationRecords calls visit for each object that the memory profiler has recorded the
// allocation of (runtime/mprof.go), with the bucket that holds its stack.
func (m *Model) AllocationRecords(visit func(obj uint32, bucket uint64)) error {
	l := &layouts{names: m.names}
	oNext, oOffset, oKind := l.off("runtime.special", "next"), l.off("runtime.special", "offset"), l.off("runtime.special", "kind")
	oBucket := l.off("runtime.specialprofile", "b")
	if l.err != nil {
		return l.err
	}
	mem := m.Mem
	for i := range m.Spans {
		s := &m.Spans[i]
		var list chain
		for a := s.specials; a != 0; a = mem.U64(a + oNext) {
			if list.returns(a) || mem.Err() != nil {
				return m.listError("a list of specials")
			}
			if mem.U8(a+oKind) != m.sem.specialProfile {
				continue
			}
			if k := s.index(s.Base + mem.U64(a+oOffset)); k < s.NElems {
				visit(s.FirstObj+k, mem.U64(a+oBucket))
			}
		}
	}
	return mem.Err()
}

// AllocationStack returns the return addresses of a bucket's stack, the innermost first. They lie
// behind the bucket itself.
func (m *Model) AllocationStack(bucket uint64) ([]uint64, error) {
	l := &layouts{names: m.names}
	oDepth, size := l.off("runtime.bucket", "nstk"), l.size("runtime.bucket")
	if l.err != nil {
		return nil, l.err
	}
	n := m.Mem.U64(bucket + oDepth)
	if n > maxProfileDepth {
		return nil, errors.New("an allocation record is damaged: impossible depth")
	}
	stack := make([]uint64, n)
	for i := range stack {
		stack[i] = m.Mem.U64(bucket + size + 8*uint64(i))
	}
	return stack, m.Mem.Err()
}
