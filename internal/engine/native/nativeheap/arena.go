package nativeheap

import (
	"fmt"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

const (
	maxArenas = 4096     // an arena for each thread, at most 8 for each processor
	maxHeap   = 16 << 30 // bytes that are copied, at most
)

// An arena is one malloc_state.
type arena struct {
	addr   uint64
	system uint64 // bytes that it has from the system
	top    uint64
	parts  []*part
}

// A part is memory of an arena in one piece.
type part struct {
	of      *arena
	start   uint64 // of the memory; the first chunk is at first
	first   uint64
	last    uint64 // where the chunks end: the top, or a fence
	end     uint64
	headers int64 // bytes that are no chunks
	data    []byte
	state   []chunkState // one for each 16 bytes from first
	free    int
}

// flux is an error that wraps ErrFlux.
func flux(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFlux, fmt.Sprintf(format, args...))
}

// loadArenas follows the ring of arenas, and copies their memory.
func (w *walk) loadArenas() error {
	main := w.places.main
	for at := main; ; {
		if len(w.arenas) == maxArenas {
			return flux("the ring of arenas has more than %d", maxArenas)
		}
		bins, size := at+w.places.head, w.places.head+stateEnd
		if w.mem.Bytes(at, size) == nil {
			return flux("an arena cannot be read")
		}
		if w.mem.U32(at+stateMutex) != 0 {
			return flux("an arena is locked")
		}
		a := &arena{addr: at, system: w.word(bins + stateSystem), top: w.word(bins - topBefore)}
		w.arenas = append(w.arenas, a)
		w.seen = append(w.seen, image.Range{Addr: at, Len: size})
		parts := w.partsOf
		if at == main {
			parts = w.mainPart
		}
		if err := parts(a); err != nil {
			return err
		}
		w.parts = append(w.parts, a.parts...)
		if at = w.word(bins + stateNext); at == main {
			break
		}
	}
	w.seen = append(w.seen, image.Range{Addr: w.places.params, Len: paramsSize})
	sort.Slice(w.parts, func(i, j int) bool { return w.parts[i].start < w.parts[j].start })
	return w.loadParts()
}

// mainPart makes the part of the main arena: the memory of brk(2), without what others took before
// malloc.
func (w *walk) mainPart(a *arena) error {
	start := w.word(w.places.params + heapStart)
	heap := w.areaOf(start)
	if heap == nil || heap.Name != "[heap]" || a.top < start || a.top+minChunk > heap.End {
		return flux("the main arena's top is not in its memory")
	}
	p := &part{of: a, start: start, first: (start + chunkAlign - 1) &^ (chunkAlign - 1), last: a.top, end: heap.End}
	p.headers = int64(p.first - start)
	a.parts = []*part{p}
	return nil
}

// partsOf makes the parts of another arena, from that of the top to the first, which begins with
// the malloc_state.
func (w *walk) partsOf(a *arena) error {
	first := a.addr &^ (heapMax - 1)
	info := a.addr - first // the size of heap_info, which differs between versions
	if !isHeapInfoSize(info) {
		return flux("an arena is not at the start of its memory")
	}
	for h, top := a.top&^(heapMax-1), a.top; ; top = 0 {
		var b [HeapInfoSize]byte
		copy(b[:], w.mem.Bytes(h, HeapInfoSize))
		head := parseHeapInfo(&b)
		size := head.size
		if area := w.areaOf(h); area == nil || !area.Writable || size > heapMax || h+size > area.End || size < info+minChunk || head.arena != a.addr {
			return flux("a part of an arena is not one")
		}
		p := &part{of: a, start: h, first: h + info, last: top, end: h + size}
		if h == first {
			p.first = (h + info + w.places.head + stateEnd + chunkAlign - 1) &^ (chunkAlign - 1)
		}
		p.headers = int64(p.first - h)
		if a.parts = append(a.parts, p); len(a.parts) > maxArenas {
			return flux("an arena has too many parts")
		}
		switch {
		case h == first && head.before == 0:
			return nil
		case h == first || head.before == 0 || head.before%heapMax != 0:
			return flux("the parts of an arena do not lead to its first")
		}
		h = head.before
	}
}

// loadParts copies the memory of all parts.
func (w *walk) loadParts() error {
	var ranges []image.Range
	total := uint64(0)
	for i, p := range w.parts {
		if i > 0 && w.parts[i-1].end > p.start {
			return flux("arenas overlap")
		}
		end := p.end
		if p.last != 0 {
			end = min(end, p.last+minChunk) // of the top, only the size is needed
		}
		ranges = append(ranges, image.Range{Addr: p.start, Len: end - p.start})
		total += end - p.start
	}
	if total > maxHeap {
		return &UnknownError{fmt.Sprintf("malloc has more than %d GiB", maxHeap>>30), "let the test allocate less"}
	}
	data, err := w.mem.Load(ranges)
	if err != nil {
		return err
	}
	for i, p := range w.parts {
		if p.data = data[i]; uint64(len(p.data)) < ranges[i].Len {
			return flux("the memory of an arena cannot be read")
		}
	}
	return nil
}

// areaOf returns the mapping of an address, nil if there is none.
func (w *walk) areaOf(addr uint64) *Area {
	i := sort.Search(len(w.areas), func(i int) bool { return w.areas[i].Start > addr }) - 1
	if i < 0 || addr >= w.areas[i].End {
		return nil
	}
	return &w.areas[i]
}

// auditArenas compares the arenas' books with their chunks.
func (w *walk) auditArenas() error {
	for _, a := range w.arenas {
		size, free := uint64(0), 0
		for _, p := range a.parts {
			free += p.free
			end := p.end
			if p.last != 0 && a.addr == w.places.main {
				end = p.last + w.word(p.last+chunkSize)&^sizeFlags
			}
			size += end - p.start
		}
		if size != a.system {
			return flux("an arena has %d bytes, and says %d", size, a.system)
		}
		if err := w.auditBins(a, free); err != nil {
			return err
		}
		if err := w.takeFast(a); err != nil {
			return err
		}
	}
	return nil
}

// auditBins checks that the free chunks are those on the bins.
func (w *walk) auditBins(a *arena, free int) error {
	listed := 0
	for i := range uint64(bins) {
		bin := a.addr + w.places.head + 16*i - binAsChunk
		before := bin
		for at := w.word(bin + chunkNext); at != bin; at = w.word(at + chunkNext) {
			p := w.partOf(at)
			if p == nil || p.stateAt(at) != freed || w.word(at+chunkPrev) != before {
				return flux("a bin has what is no free chunk")
			}
			if listed++; listed > free {
				return flux("bins have more than the %d free chunks", free)
			}
			before = at
		}
		if w.word(bin+chunkPrev) != before {
			return flux("a bin does not end with its last chunk")
		}
	}
	if listed != free {
		return flux("of %d free chunks %d are on bins", free, listed)
	}
	return nil
}

// takeFast marks the chunks on fast bins.
func (w *walk) takeFast(a *arena) error {
	if w.places.head != withFast {
		return nil
	}
	for i := range uint64(fastBins) {
		for at := w.word(a.addr + stateFast + 8*i); at != 0; {
			if !w.mark(at, int64(minChunk+16*i), fast) {
				return flux("a fast bin has what is not a chunk of its size in use")
			}
			at = w.reveal(at + chunkNext)
		}
	}
	return nil
}

// reveal reads a pointer of a list of freed blocks, and undoes its protection.
func (w *walk) reveal(at uint64) uint64 {
	if w.places.plain {
		return w.word(at)
	}
	return w.word(at) ^ at>>protectionShift
}
