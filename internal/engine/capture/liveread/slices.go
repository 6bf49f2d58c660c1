package liveread

import "github.com/leakgate/leakgate/internal/engine/memory/offheap"

// Slices records memory that may hold slice headers, in package variables and, if the heap is
// small, in its objects, to find the slices that got longer: elements within a slice's array are
// no new objects. Neither are those in the buffers of channels, and those of slices whose lengths
// lie in frames. It reads memory in place that the program may write to meanwhile. It knows no
// types: three words that look like a pointer to an array on the heap, a length and a capacity
// count as a header. It is for one goroutine at a time.
type Slices struct {
	// Unwatched is the size in bytes of the spans with pointers, if they are too large to look for
	// headers in them: then only package variables are watched.
	Unwatched int64

	layout  *Layout
	headers []header
	queues  []queue
	frames  frames
}

// A header records the address of a slice's length word, the length read there last, and by how
// many elements the first calls have made the slice longer.
type header struct {
	at      uintptr
	len, by int
}

// An area is memory in which headers may lie: package variables, or objects of one size.
type area struct{ at, size, object uintptr }

const (
	slowCalls = 50  // a leak of one element in more calls is not looked for
	maxGrown  = 100 // slices

	// In a heap with more bytes of spans with pointers, or with more headers, which take 16 bytes
	// each, headers are not looked for.
	maxHeap    = 32 << 20
	maxHeaders = 1 << 18

	minHeader = 24 // bytes of a slice's header
	minRoom   = 4  // elements: a slice with a smaller capacity moves to another array soon
	moreSpans = 64 // spans that may be added while the list for them is allocated
)

// NewSlices records the headers that exist now. Headers in free objects may be uninitialized
// memory. It returns an error if, at each of several tries, spans were added or a collection
// ended.
func NewSlices(l *Layout) (*Slices, error) {
	s := &Slices{layout: l}
	return s, tryAgain(s.begin)
}

//go:norace
func (s *Slices) begin() error {
	l := s.layout
	room := int(offheap.Word(l.at.Heap+l.mheap.AllSpans+8)) + moreSpans
	areas, queues := make([]area, 0, room), make([]area, 0, room)
	for m := l.at.Modules; m != 0 && len(areas) < moreSpans/2; m = offheap.Word(m + l.moduledata.Next) {
		for _, ends := range [...][2]uintptr{{l.moduledata.Data, l.moduledata.DataEnd}, {l.moduledata.BSS, l.moduledata.BSSEnd}} {
			at := offheap.Word(m + ends[0])
			size := offheap.Word(m+ends[1]) - at
			areas = append(areas, area{at, size, size})
		}
	}
	variables, full := len(areas), false
	heap, channels, first, end := uintptr(0), 0, ^uintptr(0), uintptr(0)
	err := l.spans(false, func(_ int, s *span) { // nothing may be allocated in the function: the list of spans could move
		first, end = min(first, s.base), max(end, s.end())
		if full = full || len(areas) == cap(areas) || len(queues) == cap(queues); full {
			return
		}
		objects := area{s.base, s.end() - s.base, s.size}
		if s.mayHaveSlices() {
			areas = append(areas, objects)
			heap += objects.size
		}
		if s.mayHaveChannels(l) {
			queues = append(queues, objects)
			channels += int(s.elems)
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
	if s.queues = nil; channels <= maxChannels {
		s.queues = l.queuesIn(queues)
	}
	heads := headers{Layout: l, first: first, end: end}
	if s.headers = heads.in(areas); len(s.headers) == maxHeaders {
		s.Unwatched, s.headers = int64(heap), heads.in(areas[:variables])
	}
	s.frames = l.frameWords()
	return nil
}

// headers finds memory that may be a slice header whose array lies between first and end.
type headers struct {
	*Layout
	first, end uintptr
}

// in lists the headers in some areas, at most maxHeaders. The list that grows meanwhile is none of
// them: its own header lies on the stack.
//
//go:norace
func (h headers) in(areas []area) (found []header) {
	for _, a := range areas {
		for object := a.at; object < a.at+a.size; object += a.object {
			for at := object; at+minHeader <= object+a.object; at += 8 {
				room := offheap.Word(at + 16)
				if room-1 >= h.end-h.first { // nearly always
					continue
				}
				array, length := offheap.Word(at), offheap.Word(at+8)
				if room < length+minRoom || array-h.first >= h.end-h.first || !h.isSlice(at+8) {
					continue
				}
				if len(found) == maxHeaders {
					return found
				}
				found = append(found, header{at: at + 8, len: int(length)})
			}
		}
	}
	return found
}

// GotLonger finds the slices that so many calls since NewSlices have made longer, and keeps them
// for WentOn. each reports whether some slice appears to have grown by the same number of elements
// with each call, some whether one has grown by at least one element in slowCalls calls. Both are
// true if more than maxGrown have grown, or if it cannot tell.
//
//go:norace
func (s *Slices) GotLonger(calls int) (each, some bool) {
	all := s.headers
	s.headers = all[:0]
	for _, h := range all {
		h.by = int(offheap.Word(h.at)) - h.len
		if h.by <= 0 || h.by*slowCalls < calls || !s.layout.isSlice(h.at) { // the usual case
			continue
		}
		if len(s.headers) == maxGrown {
			return true, true
		}
		each = each || h.by%calls == 0
		h.len += h.by
		s.headers = append(s.headers, h)
	}
	if !each && s.layout.frameGrew(s.frames, calls) {
		return true, true
	}
	return each, len(s.headers) > 0
}

// WentOn reports whether as many calls again have made one of the slices that GotLonger found
// longer by about as much as the calls before.
//
//go:norace
func (s *Slices) WentOn() bool {
	all := s.headers
	s.headers = all[:0]
	for _, h := range all {
		by := int(offheap.Word(h.at)) - h.len
		if by >= (h.by+1)/2 && by <= 2*h.by && s.layout.isSlice(h.at) {
			h.len += by
			s.headers = append(s.headers, h)
		}
	}
	return len(s.headers) > 0
}

// isSlice reports whether the header at an address can be that of a slice: its array lies in one
// object of the heap. It returns true if it cannot tell.
//
//go:norace
func (l *Layout) isSlice(at uintptr) bool {
	array, length, room := offheap.Word(at-8), offheap.Word(at), offheap.Word(at+8)
	if length > room {
		return false
	}
	behind, ok := l.behind(array)
	return !ok || room <= behind
}
