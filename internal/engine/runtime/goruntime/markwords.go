package goruntime

// Marks64 returns the results of Marked and Allocated for the 64 objects from number 64*i of the
// span on, one bit for each object.
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
