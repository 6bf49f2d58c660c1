package nativeheap

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A second arena with two parts, and the thread that uses it.
const (
	secondPart  = 0x7e0000000000
	lastPart    = secondPart + heapMax
	secondArena = secondPart + 0x30
	secondFirst = secondPart + 0x8d0 // the first chunk, behind the malloc_state
	fenceAt     = secondPart + 0x1000 - 2*fence
	secondCache = lastPart + 0x30 + chunkHeader
	secondTop   = lastPart + 0x30 + 0x290 + 0x60
	secondBins  = secondArena + withFast
	otherThread = threadAt + 0x2000
)

// newTwoArenas makes a heap with a second arena beside that of newSynthetic. It has blocks of 64,
// 96 and 464 bytes in use, a free one of 1,280, and a tcache with nothing in it.
func newTwoArenas() *synthetic {
	s := newSynthetic()
	s.add(secondPart, 0x1000)
	s.add(lastPart, 0x2000)
	for i, w := range []uint64{secondArena, 0, 0x1000, 0x1000} {
		s.put(secondPart+8*uint64(i), w)
	}
	for i, w := range []uint64{secondArena, secondPart, 0x2000, 0x2000} {
		s.put(lastPart+8*uint64(i), w)
	}
	const used = prevInUse | isNotMain
	const freed = secondFirst + 64
	const behind = freed + 0x500
	s.put(secondFirst+chunkSize, 64|used)
	s.put(freed+chunkSize, 0x500|used)
	s.put(behind, 0x500)
	s.put(behind+chunkSize, (fenceAt-behind)|isNotMain)
	s.put(fenceAt+chunkSize, fence|used)
	s.put(fenceAt+fence+chunkSize, prevInUse)
	s.put(lastPart+0x30+chunkSize, 0x290|used)
	s.put(lastPart+0x30+0x290+chunkSize, 0x60|used)
	s.put(secondTop+chunkSize, (lastPart+0x2000-secondTop)|prevInUse)

	for i := range uint64(bins) {
		pair := secondBins + 16*i
		s.put(pair, pair-binAsChunk)
		s.put(pair+8, pair-binAsChunk)
	}
	const bin = secondBins + 16*60 - binAsChunk
	for _, at := range []uint64{bin + chunkNext, bin + chunkPrev} {
		s.put(at, freed)
	}
	s.put(freed+chunkNext, bin)
	s.put(freed+chunkPrev, bin)
	s.put(secondBins-topBefore, secondTop)
	s.put(secondBins+stateSystem, 0x3000)
	s.put(secondBins+stateNext, arenaAt)
	s.put(binsAt+stateNext, secondArena)

	l := layoutOfThreads()
	node, before, head := otherThread+l.list, threadAt+l.list, uint64(loaderAt+0x40)
	if l.hasSelf {
		s.put(otherThread+l.self, otherThread)
	}
	s.put(otherThread+l.id, 1235)
	s.put(before, node)
	s.put(node, head)
	s.put(node+8, before)
	s.put(head+8, node)
	s.put(variablesOfThread()+0x2000, secondArena)
	s.put(variablesOfThread()+0x2000+8, secondCache)
	return s
}

// Arenas beside the first lie in parts that lead to each other. Each but the last ends with a
// fence.
func TestTwoArenas(t *testing.T) {
	needLayout(t)
	h, err := newTwoArenas().walk()
	require.NoError(t, err)
	assert.Equal(t, map[int64]int64{48: 1, 64: 1, 96: 2, 464: 1}, h.Sizes)
	assert.Equal(t, int64(5), h.Blocks)
	assert.Equal(t, int64(48+64+2*96+464), h.Bytes)
	assert.Equal(t, int64(2), h.Own)
	assert.Equal(t, int64(2*0x290), h.OwnBytes)
	assert.Equal(t, int64(0x8d0+2*fence+0x30), h.HeaderBytes)
	assert.Equal(t, 2, h.Threads)

	// A rest that was too small to be freed makes the fence longer.
	s := newTwoArenas()
	s.put(secondFirst+64+0x500+chunkSize, (fenceAt-fence-secondFirst-64-0x500)|isNotMain)
	s.put(fenceAt-fence+chunkSize, 2*fence|prevInUse|isNotMain)
	h, err = s.walk()
	require.NoError(t, err)
	assert.Equal(t, map[int64]int64{48: 1, 64: 1, 96: 2, 448: 1}, h.Sizes)
	assert.Equal(t, int64(0x8d0+3*fence+0x30), h.HeaderBytes)
}

// A chunk on a fast bin has the size of that bin.
func TestFastBins(t *testing.T) {
	needLayout(t)
	s := newTwoArenas()
	s.put(secondArena+stateFast+8*2, secondFirst)
	s.put(secondFirst+chunkNext, (secondFirst+chunkNext)>>protectionShift)
	h, err := s.walk()
	require.NoError(t, err)
	assert.Equal(t, int64(2), h.Fast)
	assert.Equal(t, int64(32+64), h.FastBytes)
	assert.Equal(t, map[int64]int64{48: 1, 96: 2, 464: 1}, h.Sizes)
}

// The records of the second arena that do not agree with its chunks say what is wrong, if the heap
// was in order before.
func TestDamagedArenas(t *testing.T) {
	needLayout(t)
	for want, damage := range map[string]func(*synthetic){
		"the parts of an arena do not lead":              func(s *synthetic) { s.put(lastPart+8, secondPart+8) },
		"an arena is locked":                             func(s *synthetic) { s.put(secondArena+stateMutex, 1) },
		"an arena is not at the start of its memory":     func(s *synthetic) { s.put(binsAt+stateNext, secondArena+0x50) },
		"a part of an arena is not one":                  func(s *synthetic) { s.put(lastPart, secondArena+8) },
		"the parts of an arena do not lead to its first": func(s *synthetic) { s.put(lastPart+8, 0) },
		"an arena has too many parts":                    func(s *synthetic) { s.put(lastPart+8, lastPart) },
		"a chunk of 16 bytes":                            func(s *synthetic) { s.put(fenceAt+fence+chunkSize, 48|prevInUse) },
		"a chunk that is of another arena":               func(s *synthetic) { s.put(secondFirst+chunkSize, 64|prevInUse) },
		"a free chunk has two sizes":                     func(s *synthetic) { s.put(secondFirst+64+0x500, 0x510) },
		"a chunk reaches beyond the top":                 func(s *synthetic) { s.put(lastPart+0x30+0x290+chunkSize, 0x70|prevInUse|isNotMain) },
		"a free chunk before the top":                    func(s *synthetic) { s.put(secondTop+chunkSize, lastPart+0x2000-secondTop); s.put(secondTop, 0x60) },
		"the top has another size than is left":          func(s *synthetic) { s.put(secondTop+chunkSize, (lastPart+0x1ff0-secondTop)|prevInUse) },
		"an arena has 12288 bytes, and says 12289":       func(s *synthetic) { s.put(secondBins+stateSystem, 0x3001) },
		"of 1 free chunks 0 are on bins": func(s *synthetic) {
			s.put(secondBins+16*60, secondBins+16*60-16)
			s.put(secondBins+16*60+8, secondBins+16*60-16)
		},
		"a bin has what is no free chunk":                func(s *synthetic) { s.put(secondFirst+64+chunkPrev, secondFirst) },
		"a bin does not end with its last chunk":         func(s *synthetic) { s.put(secondBins+16*60+8, secondFirst) },
		"a fast bin has what is not a chunk of its size": func(s *synthetic) { s.put(secondArena+stateFast+8, secondFirst) },
		"a thread's tcache is not in an arena":           func(s *synthetic) { s.put(variablesOfThread()+0x2000+8, threadAt) },
		"a list of threads does not end with its last":   func(s *synthetic) { s.put(loaderAt+0x48, threadAt+layoutOfThreads().list) },
		"of 1 threads 0 are on the loader's lists": func(s *synthetic) {
			s.put(threadAt+layoutOfThreads().id, 0)
			s.put(otherThread+layoutOfThreads().id, 0)
		},
		"the memory of an arena cannot be read": func(s *synthetic) { s.pieces = shortened(s.pieces, lastPart, 0x320) },
	} {
		s, places := newTwoArenas(), Places{program: "/app"}
		_, err := s.walkAgain(&places)
		require.NoError(t, err)
		damage(s)
		_, err = s.walkAgain(&places)
		assert.ErrorIs(t, err, ErrFlux, want)
		assert.ErrorContains(t, err, want)
	}
}

// shortened cuts a piece after some bytes.
func shortened(pieces []image.Piece, addr, size uint64) []image.Piece {
	for i := range pieces {
		if pieces[i].Addr == addr {
			pieces[i].Data = pieces[i].Data[:size]
		}
	}
	return pieces
}

// What is known of a process after one walk serves for the next: threads may have no tcache, or
// a constant in place of it.
func TestKnownPlaces(t *testing.T) {
	needLayout(t)
	s, places := newTwoArenas(), Places{program: "/app"}
	before, err := s.walkAgain(&places)
	require.NoError(t, err)
	assert.True(t, places.knowsCache)
	known := places
	again, err := s.walkAgain(&places)
	require.NoError(t, err)
	assert.Equal(t, before, again)
	assert.Equal(t, known, places)
	for _, none := range []uint64{0, libraryAt + 0x1800} {
		s.put(variablesOfThread()+0x2000+8, none)
		h, err := s.walkAgain(&places)
		require.NoError(t, err)
		assert.Equal(t, int64(1), h.Own, "the other tcache is a block like others")
		assert.Equal(t, int64(1), h.Sizes[0x290])
	}
}

// If two offsets are as good, the one of the tcaches cannot be told.
func TestAmbiguousCaches(t *testing.T) {
	needLayout(t)
	s := newSynthetic()
	s.put(variablesOfThread()-0x100, arenaAt)
	s.put(variablesOfThread()-0x100+8, heapAt+chunkHeader)
	_, err := s.walk()
	assert.ErrorIs(t, err, ErrFlux)
	assert.ErrorContains(t, err, "where threads have their tcaches cannot be told")
	s.put(variablesOfThread()-0x100+8, heapAt+0x290+chunkHeader)
	_, err = s.walk()
	assert.NoError(t, err, "one of them is no tcache")
}
