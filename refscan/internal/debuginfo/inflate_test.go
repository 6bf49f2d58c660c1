package debuginfo

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed compresses by the standard library, whose reader is also what inflate is judged by.
func packed(tb testing.TB, data []byte, level int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	require.NoError(tb, err)
	for len(data) > 0 { // in pieces of odd sizes, with a flush between some
		n := min(len(data), 70_001)
		_, err = w.Write(data[:n])
		require.NoError(tb, err)
		if n%2 == 1 && len(data)%3 == 0 {
			require.NoError(tb, w.Flush())
		}
		data = data[n:]
	}
	require.NoError(tb, w.Close())
	return b.Bytes()
}

func samples() map[string][]byte {
	r := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	skewed := make([]byte, 300_000) // some codes are of the longest length
	for i := range skewed {
		skewed[i] = byte(min(r.ExpFloat64()*8, 255))
	}
	return map[string][]byte{
		"nothing":  {},
		"one byte": {7},
		"zeros":    make([]byte, 1_000_000),
		"noise":    noise,
		"skewed":   skewed,
		"text":     bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog, "), 9000),
		"far":      append(append(bytes.Clone(noise[:32768]), noise[:32768]...), noise[1:32768]...),
	}
}

func TestInflate(t *testing.T) {
	for name, data := range samples() {
		for _, level := range []int{zlib.NoCompression, zlib.BestSpeed, zlib.DefaultCompression, zlib.BestCompression, zlib.HuffmanOnly} {
			t.Run(fmt.Sprintf("%s/%d", name, level), func(t *testing.T) {
				b := packed(t, data, level)
				out, ok := inflate(uint64(len(data)), b)
				require.True(t, ok)
				require.True(t, bytes.Equal(data, out))
				_, ok = inflate(uint64(len(data)+1), b)
				require.False(t, ok, "too short")
				if len(data) > 0 {
					_, ok = inflate(uint64(len(data)-1), b)
					require.False(t, ok, "too long")
				}
				for cut := 1; cut < min(len(b), 40); cut++ {
					_, ok = inflate(uint64(len(data)), b[:len(b)-cut])
					require.False(t, ok, "without the last %d bytes", cut)
				}
			})
		}
	}
}

// TestInflateDamaged is a fixed part of FuzzInflate.
func TestInflateDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, data := range samples() {
		data = data[:min(len(data), 5000)]
		for _, level := range []int{zlib.NoCompression, zlib.DefaultCompression, zlib.HuffmanOnly} {
			sound := packed(t, data, level)
			for range 200 {
				judgeInflate(t, len(data), damage(r, sound, 0, len(sound)))
			}
		}
	}
}

func FuzzInflate(f *testing.F) {
	for _, data := range samples() {
		data = data[:min(len(data), 500)]
		f.Add(len(data), packed(f, data, zlib.DefaultCompression))
		f.Add(len(data), packed(f, data, zlib.NoCompression))
	}
	f.Add(100, []byte{0x78, 0x9c, 0xed, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, size int, b []byte) {
		if size >= 0 && size < 1<<24 {
			judgeInflate(t, size, b)
		}
	})
}

// judgeInflate requires that a stream gives what the standard library makes of it. That refuses some codes which leave
// bit patterns without meaning; a stream that does not use those is sound to inflate.
func judgeInflate(t *testing.T, size int, b []byte) {
	t.Helper()
	got, ok := inflate(uint64(size), b)
	r, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		require.False(t, ok)
		return
	}
	want, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err == nil && len(want) == size {
		require.True(t, ok, "the standard library can read it")
		require.True(t, bytes.Equal(want, got))
	}
	if ok {
		require.True(t, bytes.HasPrefix(got, want))
	}
}
