package nativeheap

import (
	"cmp"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// synthetic is the memory of a process with a small heap: its only arena, a thread, a tcache.
type synthetic struct {
	pieces []image.Piece
	areas  []Area // beside those of the pieces that newSynthetic makes
}

func (s *synthetic) Held() []image.Piece { return s.pieces }

func (s *synthetic) Copy([]image.Range) ([][]byte, error) {
	return nil, errors.New("all is held")
}

const (
	heapAt    = 0x5000000
	libraryAt = 0x7f0000000000
	loaderAt  = 0x7f0000100000
	threadsAt = 0x7f0000200000
	paramsAt  = libraryAt + 0x100
	arenaAt   = libraryAt + 0x400
	binsAt    = arenaAt + withFast
	threadAt  = threadsAt + 0x4000
)

// put writes a word.
func (s *synthetic) put(addr, value uint64) {
	for _, p := range s.pieces {
		if addr >= p.Addr && addr+8 <= p.Addr+uint64(len(p.Data)) {
			binary.LittleEndian.PutUint64(p.Data[addr-p.Addr:], value)
		}
	}
}

// newSynthetic makes a heap with blocks of 48 and 96 bytes in use, one of 80 in the tcache, one of
// 32 on a fast bin, and a free one of 1,280.
func newSynthetic() *synthetic { return newSyntheticOf(&cacheLayouts[1], 0) }

// newSyntheticOf makes that heap with a tcache of a layout, in a chunk that has a rest of some
// bytes.
func newSyntheticOf(l *cacheLayout, rest uint64) *synthetic {
	s := &synthetic{}
	for _, p := range []struct{ addr, size uint64 }{{heapAt, 0x21000}, {libraryAt, 0x2000}, {loaderAt, 0x1000}, {threadsAt, 0x8000}} {
		s.pieces = append(s.pieces, image.Piece{Addr: p.addr, Data: make([]byte, p.size)})
	}
	at, freeBefore := uint64(heapAt), false
	chunk := func(size uint64, free bool) (chunk uint64) {
		flags := uint64(prevInUse)
		if freeBefore {
			flags = 0
		}
		s.put(at+chunkSize, size|flags)
		if free {
			s.put(at+size, size)
		}
		chunk, at, freeBefore = at, at+size, free
		return chunk
	}
	cache := chunk(uint64(l.chunk)+rest, false) + chunkHeader
	chunk(48, false)
	kept := chunk(80, false) + chunkHeader
	freed := chunk(0x500, true)
	chunk(96, false)
	quick := chunk(32, false)
	top := at
	s.put(top+chunkSize, (heapAt+0x21000-top)|prevInUse)

	for i := range uint64(bins) {
		pair := binsAt + 16*i
		s.put(pair, pair-binAsChunk)
		s.put(pair+8, pair-binAsChunk)
	}
	unsorted := uint64(binsAt - binAsChunk)
	s.put(unsorted+chunkNext, freed)
	s.put(unsorted+chunkPrev, freed)
	s.put(freed+chunkNext, unsorted)
	s.put(freed+chunkPrev, unsorted)
	s.put(binsAt-topBefore, top)
	s.put(binsAt+stateNext, arenaAt)
	s.put(binsAt+stateSystem, 0x21000)
	s.put(arenaAt+stateFast, quick)
	s.put(quick+chunkNext, (quick+chunkNext)>>protectionShift)

	s.put(paramsAt, 0)
	s.put(paramsAt+8, mapMost) // n_mmaps_max, behind n_mmaps in the word before
	s.put(paramsAt+heapStart, heapAt)
	s.put(paramsAt+cacheBins, 64)
	s.put(paramsAt+cacheBytes, 1032)
	s.put(paramsAt+cacheCount, 7)

	const bin = 3 // of 80 bytes
	counts := make([]byte, uint64(l.bins)*l.countSize)
	for i := range uint64(l.bins) {
		n := byte(0)
		if i == bin {
			n = 1
		}
		if l.countsSlots {
			n = 7 - n
		}
		counts[i*l.countSize] = n
	}
	for i := 0; i < len(counts); i += 8 {
		s.put(cache+uint64(i), binary.LittleEndian.Uint64(counts[i:]))
	}
	s.put(cache+uint64(len(counts))+8*bin, kept)
	s.put(kept, kept>>protectionShift)

	of := layoutOfThreads()
	node, head := threadAt+of.list, uint64(loaderAt+0x40)
	if of.hasSelf {
		s.put(threadAt+of.self, threadAt)
	}
	s.put(threadAt+of.id, 1234)
	for _, h := range []uint64{head - 16, head + 16} {
		s.put(h, h)
		s.put(h+8, h)
	}
	s.put(head, node)
	s.put(head+8, node)
	s.put(node, head)
	s.put(node+8, head)
	s.put(variablesOfThread(), arenaAt)
	s.put(variablesOfThread()+8, cache)
	return s
}

// variablesOfThread is the address of malloc's variables in the thread.
func variablesOfThread() uint64 {
	if layoutOfThreads().below {
		return threadAt - 0x40
	}
	return threadAt + 0x1000
}

func (s *synthetic) walk() (*Heap, error) {
	return s.walkIn("/lib/libc.so.6", "/lib/ld-linux-x86-64.so.2")
}

// walkIn walks the heap, with these files as the C library and the loader.
func (s *synthetic) walkIn(library, loader string) (*Heap, error) {
	return heapOf(image.NewSpace(s), s.allAreas(library, loader), &Places{program: "/app"})
}

// walkAgain walks the heap by the places that were found before, if any.
func (s *synthetic) walkAgain(places *Places) (*Heap, error) {
	return heapOf(image.NewSpace(s), s.allAreas("/lib/libc.so.6", "/lib/ld-linux-x86-64.so.2"), places)
}

func (s *synthetic) allAreas(library, loader string) []Area {
	areas := append([]Area{
		{heapAt, heapAt + 0x21000, true, "[heap]"},
		{libraryAt, libraryAt + 0x2000, true, library},
		{loaderAt, loaderAt + 0x1000, true, loader},
		{threadsAt, threadsAt + 0x8000, true, ""},
	}, s.areas...)
	slices.SortFunc(areas, func(a, b Area) int { return cmp.Compare(a.Start, b.Start) })
	return areas
}

// add adds a mapping without a name.
func (s *synthetic) add(addr, size uint64) {
	s.pieces = append(s.pieces, image.Piece{Addr: addr, Data: make([]byte, size)})
	slices.SortFunc(s.pieces, func(a, b image.Piece) int { return cmp.Compare(a.Addr, b.Addr) })
	s.areas = append(s.areas, Area{addr, addr + size, true, ""})
}

// heapOf reads the heap of a process with one thread.
func heapOf(mem *image.Space, areas []Area, places *Places) (*Heap, error) {
	w, err := read(mem, areas, 1, places)
	if err != nil {
		return nil, err
	}
	return &w.heap, nil
}

func needLayout(t testing.TB) {
	if _, known := threadLayouts[runtime.GOARCH]; !known {
		t.Skip("C's heap is not read on this architecture")
	}
}

func TestWalkSynthetic(t *testing.T) {
	needLayout(t)
	h, err := newSynthetic().walk()
	require.NoError(t, err)
	require.Equal(t, []int64{48, 96}, h.SizesUp())
	require.Equal(t, int64(2), h.Blocks)
	require.Equal(t, int64(144), h.Bytes)
	require.Equal(t, int64(80), h.CachedBytes)
	require.Equal(t, int64(32), h.FastBytes)
	require.Equal(t, int64(0x290), h.OwnBytes)
	require.Equal(t, int64(144+80+0x290), h.InUse())
}

// TestWalkWithoutFastBins walks a heap with the layout of glibc from 2.43 on.
func TestWalkWithoutFastBins(t *testing.T) {
	needLayout(t)
	s := newSynthetic()
	s.put(binsAt+stateNext, binsAt-24)
	s.put(variablesOfThread(), binsAt-24)
	h, err := s.walk()
	require.NoError(t, err)
	require.Equal(t, []int64{32, 48, 96}, h.SizesUp())
	require.Equal(t, int64(0), h.FastBytes)
	require.Equal(t, int64(144+32+80+0x290), h.InUse())
}

// TestWalkInProgram walks the heap of a C library that is linked into the program.
func TestWalkInProgram(t *testing.T) {
	needLayout(t)
	h, err := newSynthetic().walkIn("/app", "/app")
	require.NoError(t, err)
	require.Equal(t, int64(144), h.Bytes)
	_, err = newSynthetic().walkIn("/other", "/other")
	require.Error(t, err)
}

// TestDamage damages one of malloc's records at a time.
func TestDamage(t *testing.T) {
	needLayout(t)
	for name, damage := range map[string]func(*synthetic){
		"locked":                   func(s *synthetic) { s.put(arenaAt+stateMutex, 1) },
		"less from the system":     func(s *synthetic) { s.put(binsAt+stateSystem, 0x20000) },
		"a free chunk on no bin":   func(s *synthetic) { s.put(binsAt, binsAt-binAsChunk) },
		"a chunk of no size":       func(s *synthetic) { s.put(heapAt+0x290+chunkSize, 1) },
		"a chunk beyond the top":   func(s *synthetic) { s.put(heapAt+0x290+chunkSize, 0x30001) },
		"a tcache that counts two": func(s *synthetic) { s.put(heapAt+chunkHeader, 2<<48) },
		"a circle of threads":      func(s *synthetic) { s.put(threadAt+layoutOfThreads().list, threadAt+layoutOfThreads().list) },
		"no arena behind":          func(s *synthetic) { s.put(binsAt+stateNext, 0x1234) },
	} {
		s := newSynthetic()
		damage(s)
		_, err := s.walk()
		require.Error(t, err, name)
		unknown := (*UnknownError)(nil)
		require.True(t, errors.Is(err, ErrFlux) || errors.As(err, &unknown), name)
	}
}

// FuzzWalk writes words anywhere. The walk ends for any memory, and counts no more than there is.
func FuzzWalk(f *testing.F) {
	needLayout(f)
	f.Add(uint64(binsAt-topBefore), uint64(heapAt), uint64(binsAt+stateNext), uint64(heapAt))
	f.Add(uint64(heapAt+chunkSize), uint64(0x291), uint64(threadAt), uint64(0))
	f.Add(uint64(paramsAt+heapStart), uint64(heapAt+16), uint64(paramsAt+4), uint64(1)<<40)
	f.Fuzz(func(t *testing.T, at1, value1, at2, value2 uint64) {
		s := newSynthetic()
		s.put(at1&^7, value1)
		s.put(at2&^7, value2)
		h, err := s.walk()
		if err != nil {
			return
		}
		if used := h.Bytes - h.MappedBytes; used < 0 || used > 0x21000 || h.Blocks-h.Mapped > 0x21000/minChunk {
			t.Errorf("%+v", h)
		}
	})
}
