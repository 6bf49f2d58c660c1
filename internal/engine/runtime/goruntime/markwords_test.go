package goruntime

import (
	"math/rand/v2"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestMarks64(t *testing.T) {
	bytes := func(n uint32) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		return b
	}
	for _, n := range []uint32{1, 7, 8, 63, 64, 65, 100, 128, 1000, 1024} {
		for _, free := range []uint32{0, 1, n / 2, n} {
			s := Span{NElems: n, freeIndex: free, marks: bytes((n + 7) / 8)}
			for i := uint32(0); 64*i < n; i++ {
				marked, allocated := s.Marks64(i)
				for k := range uint32(64) {
					in := 64*i+k < n
					require.Equal(t, in && s.Marked(64*i+k), marked>>k&1 != 0)
					require.Equal(t, in && s.Allocated(64*i+k), allocated>>k&1 != 0)
				}
			}
		}
	}
}
