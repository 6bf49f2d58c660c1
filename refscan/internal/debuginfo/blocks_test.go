package debuginfo

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What comes out of an index file is what went in, whoever asks first and for what part.
func TestBlocksAreFilledOnDemand(t *testing.T) {
	elf, err := openELF(buildProg(t))
	require.NoError(t, err)
	defer elf.Close()
	c, err := buildContents(elf, sourceOwn)
	require.NoError(t, err)
	plain := &Index{contents: c}
	packed, err := openFile(packFile(c))
	require.NoError(t, err)

	filled := 0
	for i := range packed.blocks.filled {
		if packed.blocks.filled[i].Load() {
			filled++
		}
	}
	assert.Less(t, filled, 2, "blocks filled by opening")
	assert.Greater(t, len(packed.blocks.filled), 5)

	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range plain.count(tableFuncs) {
				i = (i*7919 + worker*101) % plain.count(tableFuncs)
				f := plain.fn(i)
				assert.Equal(t, f, packed.fn(i))
				assert.Equal(t, plain.Locals(f.Entry), packed.Locals(f.Entry))
			}
		})
	}
	wg.Wait()
	for id := range TypeID(plain.NumTypes()) {
		require.Equal(t, plain.Type(id+1), packed.Type(id+1))
	}
	require.Equal(t, plain.Globals(), packed.Globals())
	image := flat(c)
	packed.blocks.need(0, len(image))
	require.True(t, bytes.Equal(image, packed.blocks.memory))
}

// flat is what blocks are cut from.
func flat(c *contents) []byte {
	image := make([]byte, c.layOut())
	c.read(image, 0)
	return image
}

// Parts are those of the whole.
func TestReadContents(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var c contents
		for i := range c.tables {
			for range r.IntN(40) * r.IntN(2) {
				c.tables[i] = append(c.tables[i], byte(1+r.IntN(255)))
			}
		}
		all := flat(&c)
		for i, table := range c.tables {
			require.True(t, bytes.Equal(table, all[c.starts[i]:][:len(table)]))
		}
		for range 20 {
			part := make([]byte, r.IntN(len(all)))
			from := r.IntN(len(all) - len(part) + 1)
			c.read(part, from)
			require.Equal(t, all[from:][:len(part)], part)
		}
	}
}

// An index takes a third of what it was, and a few bytes for each entry of the debug information.
func TestIndexSize(t *testing.T) {
	size, dwarf, entries := measureIndex(t, buildProg(t))
	t.Logf("%d bytes of %d, %d entries", size, dwarf, entries)
	assert.Less(t, float64(size)/float64(entries), 9.0)
	assert.Less(t, float64(size)/float64(dwarf), 0.18)
}

func BenchmarkPack(b *testing.B) {
	f, err := openELF(goCommand(b))
	require.NoError(b, err)
	defer f.Close()
	c, err := buildContents(f, sourceOwn)
	require.NoError(b, err)
	image := flat(c)
	file := packFile(c)
	b.Run("pack", func(b *testing.B) {
		b.SetBytes(int64(len(image)))
		for b.Loop() {
			packFile(c)
		}
	})
	b.Run("unpack", func(b *testing.B) {
		b.SetBytes(int64(len(image)))
		memory := make([]byte, blockSize)
		src := file[headerSize:]
		count := (len(image) + blockSize - 1) / blockSize
		for b.Loop() {
			for i := range count {
				low, high := u32(src, 4*i), u32(src, 4*i+4)
				part := memory[:min(blockSize, len(image)-i<<blockBits)]
				if !unpackBlock(part, src[4*count+4:][low:high]) {
					b.Fatal("damaged")
				}
			}
		}
	})
}
