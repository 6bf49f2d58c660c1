package nativeholders

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// memory is what a process has at some addresses, for tests to fill.
type memory struct {
	pieces []image.Piece
	err    error
}

func (m *memory) Copy(ranges []image.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		for _, p := range m.pieces {
			if off := r.Addr - p.Addr; off < uint64(len(p.Data)) {
				out[i] = p.Data[off:min(uint64(len(p.Data)), off+r.Len)]
			}
		}
	}
	return out, m.err
}

// put writes a word.
func (m *memory) put(addr, word uint64) {
	for _, p := range m.pieces {
		if off := addr - p.Addr; off < uint64(len(p.Data)) {
			binary.LittleEndian.PutUint64(p.Data[off:], word)
		}
	}
}

// Blocks of C's malloc lie in 64 KiB from cHeap on, a kilobyte each. Their sizes are those of
// chunks.
const (
	cHeap     = 0x600000000000
	blockSize = 1 << 10
)

// blockAt is the address of a block.
func blockAt(i int) uint64 { return cHeap + uint64(i)*blockSize }

// searching is a search among n blocks whose memory is at hand.
func searching(n int) (*finder, *memory) {
	m := &memory{pieces: []image.Piece{{Addr: cHeap, Data: make([]byte, 64<<10)}}}
	f := &finder{mem: image.NewSpace(m), native: &nativeheap.Contents{}, owner: make([]int32, n), known: make(map[Place]int32), files: make(map[string]*library)}
	for i := range n {
		f.native.Blocks = append(f.native.Blocks, nativeheap.Block{Addr: blockAt(i), Size: 48})
	}
	return f, m
}

// wordsOf is memory with some words.
func wordsOf(words ...uint64) (mem []byte) {
	for _, w := range words {
		mem = binary.LittleEndian.AppendUint64(mem, w)
	}
	return mem
}

// A word leads to the block in whose bytes it points. They end with the first word of the next
// chunk.
func TestBlockAt(t *testing.T) {
	f, _ := searching(3)
	for addr, want := range map[uint64]int{
		blockAt(0): 0, blockAt(0) + 39: 0, blockAt(0) + 40: -1, blockAt(0) - 1: -1, blockAt(1): 1, blockAt(1) - 1: -1, blockAt(2) + 39: 2, blockAt(2) + 40: -1, 0: -1, ^uint64(0): -1,
	} {
		assert.Equal(t, want, f.blockAt(addr), "%#x", addr)
	}
	none, _ := searching(0)
	assert.Equal(t, -1, none.blockAt(cHeap))
}

// The first holder of a block keeps it. Words are read at multiples of eight.
func TestWords(t *testing.T) {
	f, _ := searching(5)
	var seen []uint64
	owner := int32(1)
	who := func(at uint64, atStart bool) int32 {
		seen = append(seen, at)
		if !atStart {
			return 0
		}
		return owner
	}
	f.words(wordsOf(blockAt(0), 7, blockAt(1), blockAt(2)+8), 0x1000, who)
	owner = 2
	f.words(append([]byte{0, 0, 0}, wordsOf(blockAt(0), blockAt(3), blockAt(4))[:20]...), 0x2005, who)
	assert.Equal(t, []uint64{0x1000, 0x1010, 0x1018, 0x2010}, seen)
	assert.Equal(t, []int32{1, 1, 0, 2, 0}, f.owner)
	assert.Equal(t, []uint32{0, 1, 3}, f.queue)
	f.refer(blockAt(2)+8, func() int32 { return 3 })
	f.refer(blockAt(0), func() int32 { return 3 })
	f.refer(0x1000, func() int32 { return 3 })
	assert.Equal(t, []int32{1, 1, 3, 2, 0}, f.owner)
}

// The holder of a block holds what the block leads to, however far.
func TestSpread(t *testing.T) {
	f, m := searching(7)
	m.put(blockAt(0)+8, blockAt(2)+16)
	m.put(blockAt(2), blockAt(4))
	m.put(blockAt(4), blockAt(0)) // a circle
	m.put(blockAt(1)+32, blockAt(3))
	m.put(blockAt(1)+40, blockAt(5)) // behind the block
	m.put(blockAt(5), blockAt(6))
	f.own(0, 7)
	f.own(1, 8)
	require.NoError(t, f.spread())
	assert.Equal(t, []int32{7, 8, 7, 8, 7, 0, 0}, f.owner)
	assert.Empty(t, f.queue)
	assert.Zero(t, f.unread)

	f, m = searching(2)
	m.err = errors.New("the process is gone")
	f.own(0, 1)
	assert.ErrorIs(t, f.spread(), m.err)
}

// What is too much to be read, or cannot be, counts as unread.
func TestRead(t *testing.T) {
	f, _ := searching(1)
	visited := make(map[int]int)
	visit := func(i int, mem []byte) { visited[i] = len(mem) }
	require.NoError(t, f.read([]image.Range{{Addr: cHeap, Len: 100}, {Addr: cHeap + 64<<10 - 40, Len: 100}, {Addr: 0x1000, Len: 8}}, visit))
	assert.Equal(t, map[int]int{0: 100, 1: 40, 2: 0}, visited)
	assert.Equal(t, uint64(60+8), f.unread)

	f, _ = searching(1)
	clear(visited)
	require.NoError(t, f.read([]image.Range{{Addr: cHeap, Len: 8}, {Addr: 0x1000, Len: maxRead - 8}, {Addr: cHeap, Len: 1}}, visit))
	assert.Equal(t, map[int]int{0: 8, 1: 0}, visited)
	assert.Equal(t, uint64(maxRead-8+1), f.unread)

	f, _ = searching(1)
	require.NoError(t, f.read([]image.Range{{Addr: cHeap, Len: maxRead + 1}}, func(int, []byte) { t.Error("nothing is read") }))
	assert.Equal(t, uint64(maxRead+1), f.unread)
}
