package nativeheap

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Each version of the tcache is known by the size of its chunk.
func TestVersionsOfCaches(t *testing.T) {
	needLayout(t)
	for i := range cacheLayouts {
		for _, rest := range []uint64{0, chunkAlign} {
			l := &cacheLayouts[i]
			h, err := newSyntheticOf(l, rest).walk()
			require.NoError(t, err, "%+v", *l)
			assert.Equal(t, []int64{48, 96}, h.SizesUp(), "%+v", *l)
			assert.Equal(t, int64(1), h.Cached)
			assert.Equal(t, int64(80), h.CachedBytes)
			assert.Equal(t, l.chunk+int64(rest), h.OwnBytes)
		}
	}
	_, err := newSyntheticOf(&cacheLayout{chunk: 0x270, bins: 64, countSize: 2}, 0).walk()
	assert.ErrorIs(t, err, ErrFlux, "of a size that no version has")
}

// Counts of a tcache that its lists do not have are a reason to look again.
func TestDamagedCaches(t *testing.T) {
	needLayout(t)
	const user = heapAt + chunkHeader
	for want, damage := range map[string]func(*synthetic){
		"a tcache has what is not a block of its size in use": func(s *synthetic) { s.put(user, 0) },
		"a tcache counts more than it has":                    func(s *synthetic) { s.put(user, 2<<48) },
		"a thread's tcache is none":                           func(s *synthetic) { s.put(variablesOfThread()+8, heapAt+0x290+chunkHeader) },
	} {
		s, places := newSynthetic(), Places{program: "/app"}
		_, err := s.walkAgain(&places)
		require.NoError(t, err)
		damage(s)
		_, err = s.walkAgain(&places)
		assert.ErrorIs(t, err, ErrFlux, want)
		assert.ErrorContains(t, err, want)
	}
	s, places := newSyntheticOf(&cacheLayouts[2], 0), Places{program: "/app"}
	_, err := s.walkAgain(&places)
	require.NoError(t, err)
	s.put(user, 9)
	_, err = s.walkAgain(&places)
	assert.ErrorContains(t, err, "a tcache has room for more than it may")
}

// Before 2.32 lists of freed blocks have plain pointers.
func TestPlainLists(t *testing.T) {
	needLayout(t)
	s := newSynthetic()
	const kept = heapAt + 0x290 + 48 + chunkHeader
	const quick = heapAt + 0x290 + 48 + 80 + 0x500 + 96
	s.put(kept, 0)
	s.put(quick+chunkNext, 0)
	_, err := s.walk()
	assert.ErrorIs(t, err, ErrFlux)
	h, err := s.walkAgain(&Places{program: "/app", plain: true})
	require.NoError(t, err)
	assert.Equal(t, int64(80), h.CachedBytes)
	assert.Equal(t, int64(32), h.FastBytes)
}

// From 2.35 on hp_flags lies before the number of mapped blocks. Where several places may be
// malloc's parameters, none is taken.
func TestVersionsOfParameters(t *testing.T) {
	needLayout(t)
	const size = 0x42000
	s := newSynthetic()
	s.put(paramsAt+8, mapMost<<32|3)
	s.put(paramsAt+mapBytes, 3*size)
	s.put(paramsAt+mapBytesMost, 3*size)
	h, err := s.walk()
	require.NoError(t, err)
	assert.Equal(t, int64(3), h.Mapped)
	assert.Equal(t, int64(3*size), h.MappedBytes)
	assert.Equal(t, int64(144+80+0x290), h.InUse())
	for want, damage := range map[string]func(*synthetic){
		"two":                      func(s *synthetic) { copyParams(s, libraryAt+0x200) },
		"more than there ever was": func(s *synthetic) { s.put(paramsAt+mapBytes, 4*size) },
		"no pages":                 func(s *synthetic) { s.put(paramsAt+mapBytes, 4097) },
		"too many bins":            func(s *synthetic) { s.put(paramsAt+cacheBins, 129) },
		"another heap":             func(s *synthetic) { s.put(paramsAt+heapStart, heapAt-16) },
	} {
		s := newSynthetic()
		s.put(paramsAt+mapBytesMost, 3*size)
		damage(s)
		_, err := s.walk()
		assert.Equal(t, error(errNotFound), err, want)
	}
}

// copyParams copies malloc's parameters to another address.
func copyParams(s *synthetic, to uint64) {
	for _, p := range s.pieces {
		if p.Addr == libraryAt {
			copy(p.Data[to-libraryAt:], p.Data[paramsAt-libraryAt:][:paramsSize])
		}
	}
}
