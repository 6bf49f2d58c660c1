package nativeheap

import (
	"encoding/binary"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// contentsOf reads the heap of a process with so many threads.
func contentsOf(t *testing.T, s *synthetic, threads int) *Contents {
	t.Helper()
	w, err := read(image.NewSpace(s), s.allAreas("/lib/libc.so.6", "/lib/ld-linux-x86-64.so.2"), threads, &Places{program: "/app"})
	require.NoError(t, err)
	return w.contents()
}

// Contents have the blocks in use with their memory, malloc's own blocks, and the threads.
func TestContents(t *testing.T) {
	needLayout(t)
	s := newTwoArenas()
	const first = heapAt + 0x290 + chunkHeader
	s.put(first, 0x1122334455667788)
	s.put(first+32, 42) // the first word of the next chunk
	s.put(otherThread+layoutOfThreads().id, 0)
	c := contentsOf(t, s, 1)
	sizes := make(map[uint64]int64)
	last := uint64(0)
	for _, b := range c.Blocks {
		assert.Greater(t, b.Addr, last, "by address")
		last, sizes[b.Addr] = b.Addr, b.Size
		assert.False(t, b.Mapped())
	}
	assert.Equal(t, map[uint64]int64{
		first: 48, first + 48 + 80 + 0x500: 96, secondFirst + 16: 64, secondFirst + 64 + 0x500 + 16: 464, secondTop - 0x60 + 16: 96,
	}, sizes)
	mem := c.Bytes(c.Blocks[0])
	require.Len(t, mem, 48-16+8)
	assert.Equal(t, uint64(first+40), c.Blocks[0].End())
	assert.Equal(t, uint64(0x1122334455667788), binary.LittleEndian.Uint64(mem))
	assert.Equal(t, uint64(42), binary.LittleEndian.Uint64(mem[32:]))
	assert.Equal(t, []Block{{Addr: heapAt + chunkHeader, Size: 0x290}, {Addr: secondCache, Size: 0x290}}, c.Own)
	assert.Equal(t, []image.Range{
		{Addr: arenaAt, Len: withFast + stateEnd}, {Addr: heapAt, Len: 0x21000}, {Addr: secondPart, Len: 0x1000}, {Addr: lastPart, Len: 0x2000},
	}, c.Parts)
	assert.Equal(t, []Thread{{threadAt, false}, {otherThread, true}}, c.Threads)
	assert.Zero(t, c.Hidden)
	assert.Len(t, c.Areas, 6)
}

// A block that is a mapping of its own is found by the head of its chunk. Unless all are found,
// which are not malloc's cannot be told, and none is listed.
func TestMappedBlocks(t *testing.T) {
	needLayout(t)
	const area = 0x7d0000000000
	const size = 0x42000
	for _, tt := range []struct {
		name     string
		n, bytes uint64
		words    map[uint64]uint64 // from the area's start on
		found    []uint64
	}{
		{"one", 1, size, map[uint64]uint64{8: size | isMapped}, []uint64{0}},
		{"two side by side", 2, 2 * size, map[uint64]uint64{8: size | isMapped, size + 8: size | isMapped}, []uint64{0, size}},
		{"one in another", 1, size, map[uint64]uint64{8: size | isMapped, 0x1008: 0x1000 | isMapped}, []uint64{0}},
		{"behind other memory", 1, size, map[uint64]uint64{8: 7, 0x3008: size | isMapped}, []uint64{0x3000}},
		{"fewer than malloc counts", 2, 2 * size, map[uint64]uint64{8: size | isMapped}, nil},
		{"other bytes than malloc counts", 1, 0x43000, map[uint64]uint64{8: size | isMapped}, nil},
		{"no head", 1, size, map[uint64]uint64{8: size | prevInUse}, nil},
		{"aligned", 1, size, map[uint64]uint64{0: 16, 8: size | isMapped}, nil},
		{"no pages", 2, 2 * size, map[uint64]uint64{8: (size + 16) | isMapped, 0x50008: (size - 16) | isMapped}, nil},
		{"beyond the mapping", 1, 0x200000, map[uint64]uint64{8: 0x200000 | isMapped}, nil},
	} {
		s := newSynthetic()
		s.add(area, 0x100000)
		s.put(paramsAt, tt.n<<32)
		s.put(paramsAt+mapBytes, tt.bytes)
		s.put(paramsAt+mapBytesMost, tt.bytes)
		for off, word := range tt.words {
			s.put(area+off, word)
		}
		c := contentsOf(t, s, 1)
		var found []uint64
		for _, b := range c.Blocks {
			if b.Mapped() {
				found = append(found, b.Addr-area-chunkHeader)
				assert.Equal(t, b.Addr-chunkHeader+uint64(b.Size), b.End(), tt.name)
				assert.True(t, c.Bytes(b) == nil, tt.name)
			}
		}
		assert.Equal(t, tt.found, found, tt.name)
		assert.Equal(t, int64(tt.n)-int64(len(found)), c.Hidden, tt.name)
		assert.Len(t, c.Blocks, 2+len(found), tt.name)
		h, err := s.walk()
		require.NoError(t, err)
		assert.Equal(t, int64(2+tt.n), h.Blocks, tt.name)
		assert.Equal(t, int64(144+tt.bytes), h.Bytes, tt.name)
		assert.Equal(t, int64(tt.n), h.Mapped, tt.name)
		assert.Equal(t, int64(144+80+0x290), h.InUse(), tt.name)
	}
}
