package newborn

import "github.com/leakgate/leakgate/internal/engine/peek"

// Slices remembers what may be the headers of slices, in package variables and, where the heap is
// small, in its objects, so that it can be told which slices got longer: within their arrays nothing
// of the process is new then. It reads in place what the program may write to meanwhile, and knows
// no types: what looks like a pointer to an array on the heap, its length and its capacity is taken
// for a slice. It is for one goroutine.
type Slices struct {
	// Unwatched is how many bytes objects with pointers have, if that is too much to look into them: then
	// only package variables are watched.
	Unwatched int64

	layout  *Layout
	headers []header
}

// A header is where the length of a slice lies, and what it was.
type header struct {
	at  uintptr
	len int
}

// An area is memory in which headers may lie: package variables, or objects of one size.
type area struct{ at, size, object uintptr }

const (
	maxHeap   = 32 << 20 // bytes of objects with pointers; in a larger heap headers are not looked for
	minHeader = 24       // bytes of a slice's header
	minRoom   = 4        // elements: a slice that has less moves to another array soon
	moreSpans = 64       // that there may be by the time that there is room for them
)

// NewSlices remembers what there is now. What it reads of free objects is not initialized. It returns
// an error if spans were made, or a collection ended, each time that it looked.
func NewSlices(l *Layout) (*Slices, error) {
	s := &Slices{layout: l}
	return s, tryAgain(s.begin)
}

//go:norace
func (s *Slices) begin() error {
	l := s.layout
	areas := make([]area, 0, int(peek.Word(l.heap+l.heapSpans+8))+moreSpans)
	for m := l.module; m != 0 && len(areas) < moreSpans/2; m = peek.Word(m + l.moduleNext) {
		for _, ends := range [...][2]uintptr{{l.moduleData, l.moduleDataEnd}, {l.moduleBSS, l.moduleBSSEnd}} {
			at := peek.Word(m + ends[0])
			size := peek.Word(m+ends[1]) - at
			areas = append(areas, area{at, size, size})
		}
	}
	variables, full := len(areas), false
	heap, first, end := uintptr(0), ^uintptr(0), uintptr(0)
	err := l.spans(false, func(_ int, s *span) { // nothing may be allocated in here: the list of spans could move
		first, end = min(first, s.base), max(end, s.end())
		if full = full || len(areas) == cap(areas); !full && s.mayHaveSlices() {
			areas = append(areas, area{s.base, s.end() - s.base, s.size})
			heap += s.end() - s.base
		}
	})
	if err == nil && full {
		err = errFull
	}
	if err != nil {
		return err
	}
	if s.Unwatched = 0; heap > maxHeap {
		s.Unwatched, areas = int64(heap), areas[:variables]
	}
	s.note(areas, first, end)
	return nil
}

// note remembers what may be headers of slices in areas, whose arrays are between first and end.
//
//go:norace
func (s *Slices) note(areas []area, first, end uintptr) {
	for _, a := range areas {
		for object := a.at; object < a.at+a.size; object += a.object {
			array, length := uintptr(0), uintptr(0)
			for at := object; at+8 <= object+a.object; at += 8 {
				room := peek.Word(at)
				if room-1 < end-first && room >= length+minRoom && array-first < end-first {
					s.headers = append(s.headers, header{at - 8, int(length)})
				}
				array, length = length, room
			}
		}
	}
}

// GotLonger reports whether there are slices to which each of so many calls since NewSlices seems to
// have added the same number of elements, or that cannot be told.
//
//go:norace
func (s *Slices) GotLonger(calls int) bool {
	for _, h := range s.headers {
		now := int(peek.Word(h.at))
		if now <= h.len || (now-h.len)%calls != 0 {
			continue // as nearly all
		}
		array, room := peek.Word(h.at-8), uintptr(peek.Word(h.at+8))
		behind := uintptr(0) // bytes of the object
		err := s.layout.spans(false, func(_ int, s *span) {
			if array >= s.base && array < s.end() {
				behind = s.size - (array-s.base)%s.size
			}
		})
		if err != nil || uintptr(now) <= room && room <= behind {
			return true
		}
	}
	return false
}
