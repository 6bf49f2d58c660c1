package newborn

import "github.com/leakgate/leakgate/internal/engine/peek"

// Slices records memory that may hold slice headers, in package variables and, if the heap is
// small, in its objects, to find the slices that got longer: elements within a slice's array are no
// new objects. It reads memory in place that the program may write to meanwhile. It knows no types:
// three words that look like a pointer to an array on the heap, a length and a capacity count as a
// header. It is for one goroutine at a time.
type Slices struct {
	// Unwatched is the size in bytes of the spans with pointers, if they are too large to look for
	// headers in them: then only package variables are watched.
	Unwatched int64

	layout  *Layout
	headers []header
}

// A header records the address of a slice's length word and the length read there.
type header struct {
	at  uintptr
	len int
}

// An area is memory in which headers may lie: package variables, or objects of one size.
type area struct{ at, size, object uintptr }

const (
	maxHeap   = 32 << 20 // bytes of spans with pointers; in a larger heap headers are not looked for
	minHeader = 24       // bytes of a slice's header
	minRoom   = 4        // elements: a slice with a smaller capacity moves to another array soon
	moreSpans = 64       // spans that may be added while the list for them is allocated
)

// NewSlices records the headers that exist now. Headers in free objects may be uninitialized
// memory. It returns an error if, at each of several tries, spans were added or a collection ended.
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
	err := l.spans(false, func(_ int, s *span) { // nothing may be allocated in the function: the list of spans could move
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

// note records memory in areas that may be a slice header whose array lies between first and end.
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

// GotLonger reports whether some slice appears to have grown by the same number of elements with
// each of so many calls since NewSlices. It returns true if it cannot tell.
//
//go:norace
func (s *Slices) GotLonger(calls int) bool {
	for _, h := range s.headers {
		now := int(peek.Word(h.at))
		if now <= h.len || (now-h.len)%calls != 0 {
			continue // the usual case
		}
		array, room := peek.Word(h.at-8), uintptr(peek.Word(h.at+8))
		behind := uintptr(0) // bytes from the array to the end of its object
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
