package symindex_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestMain(m *testing.M) { progtest.Main(m) }

// headerSize is the size of the header of an index file; the directory of the tables follows it.
const headerSize = 32

// built is the index of the test program.
func built(tb testing.TB) *symindex.Index {
	tb.Helper()
	f := progtest.Open(tb, progtest.Build(tb))
	p, err := dwarfread.Read(f)
	require.NoError(tb, err)
	return symindex.New(p)
}

// TestDamagedIndex is a fixed part of FuzzOpenIndex.
func TestDamagedIndex(t *testing.T) {
	sound := fileOf(t, built(t))
	tables := int(binary.LittleEndian.Uint32(sound[12:]))
	rounds := require.Rounds(5, 20)
	if progtest.Long() {
		rounds = 400
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		for table := -1; table < tables; table++ {
			low, high := headerSize, headerSize+16*tables
			if table >= 0 {
				low = headerSize + int(binary.LittleEndian.Uint64(sound[headerSize+16*table:]))
				high = low + int(binary.LittleEndian.Uint64(sound[headerSize+16*table+8:]))
			}
			if low == high {
				continue
			}
			if x, err := readBytes(mended(progtest.Damage(r, sound, low, high))); err == nil {
				progtest.AskEverything(x)
				x.Free()
			}
		}
	}
}

// fileOf returns the bytes of an index file.
func fileOf(tb testing.TB, x *symindex.Index) []byte {
	tb.Helper()
	var b bytes.Buffer
	require.NoError(tb, x.WriteFile(&b))
	return b.Bytes()
}

func readBytes(file []byte) (*symindex.Index, error) {
	return symindex.ReadFile(bytes.NewReader(file), int64(len(file)))
}

// mended corrects the checksum of an index file.
func mended(file []byte) []byte {
	binary.LittleEndian.PutUint32(file[24:], crc32.Checksum(file[headerSize:], crc32.MakeTable(crc32.Castagnoli)))
	return file
}

// FuzzOpenIndex damages an index file and corrects the checksum, so that the code after the check
// of the checksum runs.
func FuzzOpenIndex(f *testing.F) {
	file := fileOf(f, built(f))
	tables := int(binary.LittleEndian.Uint32(file[12:]))
	f.Add(uint32(0), []byte{}, false)
	f.Add(uint32(8), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false)
	f.Add(uint32(headerSize), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, false)
	f.Add(uint32(headerSize+16), []byte{0xff, 0, 0, 0, 0, 0, 0, 0}, false)
	f.Add(uint32(headerSize+16*tables), bytes.Repeat([]byte{0xff}, 4096), false)
	f.Add(uint32(len(file)/2), bytes.Repeat([]byte{0xff}, 4096), false)
	f.Add(uint32(len(file)/2), []byte{}, true)
	for table := range tables {
		off := headerSize + binary.LittleEndian.Uint64(file[headerSize+16*table:])
		f.Add(uint32(off), bytes.Repeat([]byte{0xfe}, 64), false)
		f.Add(uint32(off)+64, bytes.Repeat([]byte{0x01, 0x80}, 64), false)
	}
	f.Fuzz(func(_ *testing.T, off uint32, patch []byte, cut bool) {
		b := bytes.Clone(file)
		if int64(off) < int64(len(b)) {
			copy(b[off:], patch)
			if cut {
				b = b[:off]
			}
		}
		if len(b) >= headerSize {
			mended(b)
		}
		if x, err := readBytes(b); err == nil {
			progtest.AskEverything(x)
			x.Free()
		}
	})
}
