package nativeheap

import (
	"encoding/binary"
	"path"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// Places are the addresses of the C library's variables that are read. They are valid as long as
// the process lives.
type Places struct {
	main   uint64   // main_arena
	head   uint64   // offset of the bins in an arena
	params uint64   // in mp_: the address 40 bytes before sbrk_base
	maps   uint64   // address of n_mmaps in mp_
	lists  []uint64 // heads of the loader's lists of threads
	// offset, from the thread's struct, of the thread-local variable that points to the tcache
	cache      int64
	knowsCache bool
	plain      bool // lists of freed blocks have plain pointers, as before 2.32

	program string // the process's executable file, which may have the C library in it
}

// errNotFound says that no known malloc was found. If its variables changed while they were copied,
// another attempt may find them.
var errNotFound = &UnknownError{"malloc is not glibc's, or of a version that is not known", remedyAllocator}

// locate finds main_arena, mp_ and the loader's lists of threads in the writable memory of the C
// library and the loader.
func (w *walk) locate() error {
	c, loader, err := w.library()
	if err != nil || w.places.main != 0 {
		return err
	}
	heap := w.heapArea()
	if heap == nil {
		return &UnknownError{"the process has a C library and no heap of brk(2), which glibc's malloc begins with", remedyAllocator}
	}
	// The loader's ranges begin at index behind, after the C library's, unless both are the same.
	all, behind := c, 0
	if len(loader) > 0 && loader[0] != c[0] {
		all, behind = append(c[:len(c):len(c)], loader...), len(c)
	}
	data, err := w.mem.Load(all)
	if err != nil {
		return err
	}
	found := *w.places
	for i, r := range c {
		if found.main == 0 {
			found.main, found.head = w.findArena(r.Addr, data[i])
		}
		if params, count := findParams(r.Addr, data[i], heap); params != 0 {
			found.params, found.maps = params, count
		}
	}
	if found.main == 0 || found.params == 0 {
		return errNotFound
	}
	if err := w.replaced(); err != nil {
		return err
	}
	for i, r := range loader {
		lists, err := w.findLists(r.Addr, data[behind+i])
		if err != nil {
			return err
		}
		found.lists = append(found.lists, lists...)
	}
	if len(found.lists) == 0 {
		return flux("the loader's lists of threads are not found")
	}
	*w.places = found
	return nil
}

func (w *walk) heapArea() *Area {
	for i := range w.areas {
		if w.areas[i].Name == "[heap]" {
			return &w.areas[i]
		}
	}
	return nil
}

// library returns the memory of the C library's variables, and the memory that may contain the
// lists of threads: the loader's variables (from 2.34 on), or those of libpthread. A program that
// was linked with -static has both among its own variables.
func (w *walk) library() (c, loader []image.Range, err error) {
	for i := range w.areas {
		file := path.Base(w.areas[i].Name)
		for _, a := range allocators {
			if strings.HasPrefix(file, a.file) {
				return nil, nil, &UnknownError{"malloc is " + a.name, remedyAllocator}
			}
		}
		if strings.HasPrefix(file, "ld-musl") || strings.HasPrefix(file, "libc.musl") {
			return nil, nil, &UnknownError{"the C library is musl", "run the test with glibc"}
		}
	}
	if _, known := threadLayouts[runtime.GOARCH]; !known {
		return nil, nil, &UnknownError{"C's heap cannot be read on " + runtime.GOARCH, "run the test on amd64 or arm64"}
	}
	if c = w.dataOf(isLibrary); c != nil {
		return c, w.dataOf(isLoader), nil
	}
	if w.heapArea() == nil {
		return nil, nil, ErrNone // Go does not use brk
	}
	if c = w.dataOf(func(file string) bool { return file == w.places.program }); c != nil {
		return c, c, nil
	}
	return nil, nil, &UnknownError{"the C library is linked into the program (-static), of which no variables are found", "link it dynamically"}
}

// isLibrary reports whether a file has one of the names that glibc gives to the C library.
func isLibrary(file string) bool {
	name := path.Base(file)
	return strings.HasPrefix(name, "libc.so") || strings.HasPrefix(name, "libc-2.")
}

// isLoader reports whether a file may contain the lists of threads.
func isLoader(file string) bool {
	name := path.Base(file)
	return strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-2.") || strings.HasPrefix(name, "libpthread")
}

// dataOf returns the writable memory of files: the mappings of their variables and, right behind
// them, the unnamed mappings of the variables that are zero at first.
func (w *walk) dataOf(is func(file string) bool) (all []image.Range) {
	belongs := false
	for i := range w.areas {
		a := &w.areas[i]
		switch {
		case a.Name != "" && is(a.Name):
			belongs = true
		case a.Name == "" && belongs && i > 0 && w.areas[i-1].End == a.Start:
		default:
			belongs = false
		}
		if belongs && a.Writable {
			all = append(all, image.Range{Addr: a.Start, Len: a.End - a.Start})
		}
	}
	return all
}

// findArena returns the address of main_arena in data, the memory at base, and the offset of its
// bins; 0 if it is not there. It looks for 127 bins side by side, each a list of its own, most of
// them empty and so leading to themselves.
func (w *walk) findArena(base uint64, data []byte) (at, head uint64) {
	isBin := func(at uint64) bool { // at is the address of fd and bk
		off := at - base
		if at < base || off+16 > uint64(len(data)) {
			return false
		}
		next, prev := binary.LittleEndian.Uint64(data[off:]), binary.LittleEndian.Uint64(data[off+8:])
		bin := at - binAsChunk
		if next == bin && prev == bin {
			return true
		}
		return next != bin && prev != bin && w.isInHeap(next) && w.isInHeap(prev) && w.word(next+chunkPrev) == bin && w.word(prev+chunkNext) == bin
	}
	for off := uint64(withFast); off+16*bins <= uint64(len(data)); off += 8 {
		at := base + off
		if binary.LittleEndian.Uint64(data[off:]) != at-binAsChunk || !isBin(at) {
			continue
		}
		first, n := at, 1
		for isBin(first - 16) {
			first -= 16
			n++
		}
		for isBin(first + 16*uint64(n)) {
			n++
		}
		if n == bins && first-base >= withFast && first+stateEnd <= base+uint64(len(data)) {
			if head := w.headOf(first); head != 0 {
				return first - head, head
			}
		}
		off = first + 16*uint64(n) - base - 8
	}
	return 0, 0
}

// headOf returns the offset in main_arena of its bins, which are at first: the ring of arenas leads
// back to the arena's start. It returns 0 if no offset fits.
func (w *walk) headOf(first uint64) uint64 {
	for _, head := range heads {
		at := w.word(first + stateNext)
		for range maxArenas {
			if at == first-head {
				return head
			}
			if w.areaOf(at) == nil {
				break
			}
			at = w.word(at + head + stateNext)
		}
	}
	return 0
}

// isInHeap reports whether an address may be that of a chunk of the main arena.
func (w *walk) isInHeap(addr uint64) bool {
	a := w.areaOf(addr)
	return a != nil && a.Name == "[heap]" && addr%chunkAlign == 0
}

// findParams returns the address of mp_, as in Places, and that of n_mmaps; 0 if mp_ is not there.
// It looks for the start of the heap (sbrk_base) among words that only malloc's parameters can be.
func findParams(base uint64, data []byte, heap *Area) (found, count uint64) {
	const farthest = 1 << 20 // how much of brk's memory others may take before malloc
	for off := 0; off+paramsSize <= len(data); off += 8 {
		word := func(field int) uint64 { return binary.LittleEndian.Uint64(data[off+field:]) }
		half := func(field int) uint32 { return binary.LittleEndian.Uint32(data[off+field:]) }
		if start := word(heapStart); start < heap.Start || start >= min(heap.End, heap.Start+farthest) {
			continue
		}
		if word(mapBytes) > word(mapBytesMost) || word(mapBytes)%4096 != 0 ||
			word(cacheBins) > 128 || word(cacheBytes) > 1<<30 || word(cacheCount) > 1<<16 {
			continue
		}
		for _, field := range mapCounts {
			if half(int(field)+4) != mapMost || half(int(field)) >= mapMost || half(int(field)+8) >= mapMost || half(int(field)+12) > 1 {
				continue
			}
			if found != 0 {
				return 0, 0 // several candidates
			}
			found, count = base+uint64(off), base+uint64(off)+field
		}
	}
	return found, count
}
