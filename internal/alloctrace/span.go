package alloctrace

import "slices"

const (
	pageSize = 8192 // of the Go heap, runtime.pageSize
	// maxPages is how many pages a span of small objects has at most; go1.27 has 10
	// (internal/runtime/gc/sizeclasses.go).
	maxPages = 32
	// minAlign is the unit of objects' addresses in a trace (internal/runtime/gc.MinHeapAlign).
	minAlign = 8
	// tinyClass is the size class of the blocks of 16 bytes that small objects without pointers
	// share.
	tinyClass = 2
)

// spans finds the size of an object from the heap span that it lies in.
type spans struct {
	pages map[uint64][]placed // by page number; spans of large objects by their first page only
	found [64]pageSpans       // cache of the latest lookups, once all spans are added
}

// pageSpans are the spans that a page was in.
type pageSpans struct {
	page  uint64
	spans []placed
}

// of returns the spans that a page was in.
func (s *spans) of(page uint64) []placed {
	f := &s.found[page%uint64(len(s.found))]
	if f.page != page || f.spans == nil {
		*f = pageSpans{page, s.pages[page]}
	}
	return f.spans
}

// A placed is a span with the number of its first page.
type placed struct {
	span
	first uint64
}

// A span is a heap span that existed at some time of a trace.
type span struct {
	pages  uint64
	class  int // size class; 0: a large object
	noscan bool
}

// spanOf returns the span of an event; ok is false if it holds no objects.
func spanOf(e *event) (s span, ok bool) {
	// runtime/traceallocfree.go, traceSpanTypeAndClass: 1 for stacks and the like, or the span
	// class shifted
	spanClass := e.arguments[3]
	return span{pages: e.arguments[2], class: int(spanClass >> 2), noscan: spanClass>>1&1 == 1}, spanClass&1 == 0
}

// add adds a span that exists or existed. It does not matter when it was freed: see at.
func (s *spans) add(e *event) {
	n, ok := spanOf(e)
	if !ok {
		return
	}
	p, pages := placed{n, e.arguments[1]}, min(n.pages, maxPages)
	if n.class == 0 {
		pages = 1 // the object begins there
	}
	for page := p.first; page < p.first+pages; page++ {
		if !slices.Contains(s.pages[page], p) {
			s.pages[page] = append(s.pages[page], p)
		}
	}
}

// at returns the size of an object of a type, at an address in units of minAlign. It is sure if all
// spans that were ever at that address, and that can hold the object, give the same size. Times do
// not tell spans apart: a thread that writes events quickly gives each event a later time, and so
// gets ahead of others.
func (s *spans) at(object uint64, typ *rawType, classes []int64) (size int64, sure bool) {
	for _, n := range s.of(object * minAlign / pageSize) {
		one := n.sizeOf(object*minAlign-n.first*pageSize, typ, classes)
		if one == 0 {
			continue
		}
		if size != 0 && size != one {
			return 0, false
		}
		size = one
	}
	return size, size != 0
}

// sizeOf returns the size of an object of a type, offset bytes after the beginning of a span, or 0
// if it cannot lie there.
func (n *span) sizeOf(offset uint64, typ *rawType, classes []int64) int64 {
	// go1.26, go1.27 runtime/mbitmap.go: heapBitsInSpan, and the header of larger objects.
	const mostWithoutHeader, header = 512, 8
	switch {
	case n.noscan != (typ.pointers == 0) || n.class >= len(classes):
		return 0
	case n.class == 0:
		size := int64(n.pages) * pageSize
		if offset != 0 || int64(typ.size) > size {
			return 0
		}
		return size
	}
	size := classes[n.class]
	if size > mostWithoutHeader && !n.noscan {
		offset -= header
	}
	switch {
	case n.class == tinyClass && n.noscan && int64(typ.size) < size:
		if typ.size > 0 {
			return int64(typ.size)
		}
		return size
	case int64(typ.size) > size || int64(offset)%size != 0:
		return 0
	}
	return size
}

// SizeOf returns the bytes that an object of a size takes on the heap. classes are as for Read.
func SizeOf(size int64, classes []int64) int64 {
	for _, c := range classes {
		if c >= size {
			return c
		}
	}
	return (size + pageSize - 1) / pageSize * pageSize
}
