package debuginfo

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// damage overwrites some bytes at random places in a part of b.
func damage(r *rand.Rand, b []byte, low, high int) []byte {
	out := bytes.Clone(b)
	for range 1 + r.IntN(20) {
		at := low + r.IntN(high-low)
		for i := range min(1+r.IntN(8), high-at) {
			out[at+i] = byte([]uint32{0, 1, 0x7f, 0x80, 0xff, r.Uint32()}[r.IntN(6)])
		}
	}
	return out
}

// TestDamagedIndex is a fixed part of FuzzOpenIndex.
func TestDamagedIndex(t *testing.T) {
	elf, err := openELF(buildProg(t))
	require.NoError(t, err)
	defer elf.Close()
	c, err := buildContents(elf, sourceOwn)
	require.NoError(t, err)
	sound := flat(c)
	rounds := 20
	if long() {
		rounds = 400
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		for table := -1; table < tableCount; table++ {
			low, high := 0, directorySize
			if table >= 0 {
				low = int(binary.LittleEndian.Uint64(sound[16*table:]))
				high = low + int(binary.LittleEndian.Uint64(sound[16*table+8:]))
			}
			if low == high {
				continue
			}
			if x, err := openImage(damage(r, sound, low, high), nil); err == nil {
				askEverything(x)
			}
		}
		file := packFile(c)
		file = damage(r, file, headerSize, len(file))
		if x, err := openFile(mended(file)); err == nil {
			askEverything(x)
		}
	}
}

// mended makes the checksum of an index file fit.
func mended(file []byte) []byte {
	binary.LittleEndian.PutUint32(file[24:], checksum(file[headerSize:]))
	return file
}

// TestDamagedProgram is a fixed part of FuzzBuild.
func TestDamagedProgram(t *testing.T) {
	sound, err := os.ReadFile(buildProg(t, "-ldflags=-compressdwarf=false"))
	require.NoError(t, err)
	elf, err := parseELF(sound)
	require.NoError(t, err)
	rounds := 2
	if long() {
		rounds = 40
	}
	r := rand.New(rand.NewPCG(3, 4))
	built := 0
	for range rounds {
		for _, s := range elf.Sections {
			if s.Type == sectionNoBits || s.Size == 0 {
				continue
			}
			damaged, err := parseELF(damage(r, sound, int(s.Offset), int(s.Offset+s.Size)))
			if err != nil {
				continue
			}
			_ = sameProgram(elf, damaged)
			c, err := buildContents(damaged, sourceOwn)
			if err != nil {
				continue
			}
			x, err := openImage(flat(c), nil)
			require.NoError(t, err)
			askEverything(x)
			built++
		}
	}
	require.Positive(t, built)
}
