//go:build linux && (amd64 || arm64)

package freeze

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

type small struct {
	next *small
	_    [7]uint64
}

const (
	smallObjects = 4_700_000 // of 64 bytes: 300 MB
	smallSpan    = 8 << 10
)

// newHeap returns a list of small objects with live memory of 300 MB.
func newHeap() *small {
	var list *small
	for range smallObjects {
		list = &small{next: list}
	}
	runtime.GC()
	return list
}

// BenchmarkTake reports how long other goroutines stand still at 300 MB of small objects.
func BenchmarkTake(b *testing.B) {
	heap := newHeap()
	var pauses []time.Duration
	for b.Loop() {
		p, err := Take()
		require.NoError(b, err)
		pauses = append(pauses, p.Pause())
		require.NoError(b, p.Close())
	}
	slices.Sort(pauses)
	b.ReportMetric(float64(pauses[len(pauses)/2])/1e6, "median-pause-ms")
	b.ReportMetric(float64(pauses[len(pauses)-1])/1e6, "max-pause-ms")
	runtime.KeepAlive(heap)
}

// BenchmarkCopy copies 300 MB in one range and in ranges of a span, and reads a byte of each page
// of the copy.
func BenchmarkCopy(b *testing.B) {
	data := make([]byte, smallObjects*64)
	for i := 0; i < len(data); i += pageSize {
		data[i] = 1
	}
	whole := []Range{{Addr: address(data), Len: uint64(len(data))}}
	var spans []Range
	for i := 0; i+smallSpan <= len(data); i += smallSpan {
		spans = append(spans, Range{Addr: whole[0].Addr + uint64(i), Len: smallSpan})
	}
	for _, bb := range []struct {
		name   string
		ranges []Range
	}{{"whole", whole}, {"spans", spans}} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				b.StopTimer()
				p, err := Take()
				require.NoError(b, err)
				b.StartTimer()
				got, err := p.Copy(bb.ranges)
				require.NoError(b, err)
				var sum int
				for _, data := range got {
					for i := 0; i < len(data); i += pageSize {
						sum += int(data[i])
					}
				}
				b.StopTimer()
				require.NoError(b, p.Close())
				require.NotZero(b, sum)
				b.StartTimer()
			}
		})
	}
	runtime.KeepAlive(data)
}
