package heapgraph

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
	"github.com/leakgate/leakgate/refscan/internal/image"
	"github.com/leakgate/leakgate/refscan/internal/imagetest"
)

// recorder is a source that remembers what was asked for.
type recorder struct {
	image.Source
	copied []image.Range
}

func (r *recorder) Copy(ranges []image.Range) ([][]byte, error) {
	r.copied = append(r.copied, ranges...)
	return r.Source.Copy(ranges)
}

// within is how many bytes of a stretch were asked for.
func (r *recorder) within(lo, hi uint64) (bytes uint64) {
	for _, c := range r.copied {
		if from, to := max(c.Addr, lo), min(c.End(), hi); from < to {
			bytes += to - from
		}
	}
	return bytes
}

// A scan reads the memory of each object with pointers once, in a few large requests, and that of objects without pointers not at
// all, but for a few func values that capture no pointers.
func TestBytesRead(t *testing.T) {
	im, program := imagetest.Record(t)
	index, err := debuginfo.Build(program)
	require.NoError(t, err)
	source := &recorder{Source: im}
	im.Mend()
	m, err := goruntime.Load(image.NewSpace(source), index, 0, runtime.GOARCH, goruntime.Caller{G: im.G, PC: im.PC, SP: im.SP})
	require.NoError(t, err)
	g, err := Build(m, index, "")
	require.NoError(t, err)
	require.Positive(t, g.Attribute(nil).Totals.AttributedBytes)

	var pointers, noPointers, readPointers, readNoPointers uint64
	for i := range m.Spans {
		s := &m.Spans[i]
		if read := source.within(s.Base, s.Base+s.Size); s.NoScan {
			noPointers += s.Size
			readNoPointers += read
		} else {
			pointers += s.Size
			readPointers += read
		}
	}
	t.Logf("with pointers: %d of %d bytes read; without: %d of %d; all together: %d in %d requests",
		readPointers, pointers, readNoPointers, noPointers, im.Bytes, im.Copies)
	const around = 64 << 10 // records next to the heap, and what lies around them
	require.GreaterOrEqual(t, readPointers, pointers)
	require.LessOrEqual(t, readPointers, pointers+around)
	require.Greater(t, noPointers, uint64(1<<20))
	require.LessOrEqual(t, readNoPointers, uint64(around))
	require.Less(t, im.Bytes, pointers+4<<20) // the program's variables and tables of functions
	require.Less(t, im.Copies, 100)
}
