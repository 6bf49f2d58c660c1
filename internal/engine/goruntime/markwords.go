package goruntime

// Marks64 returns what Marked says of 64 objects, from 64*i on, and what Allocated says of them: a
// bit each.
func (s *Span) Marks64(i uint32) (marked, allocated uint64) {
	for k := uint32(0); k < 8 && 8*i+k < uint32(len(s.marks)); k++ {
		marked |= uint64(s.marks[8*i+k]) << (8 * k)
	}
	if n := s.NElems - 64*i; n < 64 {
		marked &= 1<<n - 1
	}
	allocated = marked
	if 64*i < s.freeIndex {
		allocated |= 1<<min(s.freeIndex-64*i, 64) - 1
	}
	return marked, allocated
}
