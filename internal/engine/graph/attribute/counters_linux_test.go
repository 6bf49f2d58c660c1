package attribute_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// recorder is a source that records which ranges were copied.
type recorder struct {
	image.Source
	copied []image.Range
}

func (r *recorder) Copy(ranges []image.Range) ([][]byte, error) {
	r.copied = append(r.copied, ranges...)
	return r.Source.Copy(ranges)
}

// within is how many bytes between two addresses were copied.
func (r *recorder) within(lo, hi uint64) (bytes uint64) {
	for _, c := range r.copied {
		if from, to := max(c.Addr, lo), min(c.End(), hi); from < to {
			bytes += to - from
		}
	}
	return bytes
}

// A scan reads the memory of each object with pointers once, in a few large requests. It does not
// read objects without pointers, except a few func values that capture no pointers.
func TestBytesRead(t *testing.T) {
	p := imagetest.Record(t)
	source := &recorder{Source: p}
	m, err := p.Load(source)
	require.NoError(t, err)
	g, err := typedheap.Build(m, p.Index, typedheap.Options{})
	require.NoError(t, err)
	require.Positive(t, attribute.Run(g, root.Program{}, attribute.Options{}).Totals.AttributedBytes)

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
		readPointers, pointers, readNoPointers, noPointers, p.Bytes, p.Copies)
	const around = 64 << 10 // records next to the heap, and what lies around them
	require.GreaterOrEqual(t, readPointers, pointers)
	require.LessOrEqual(t, readPointers, pointers+around)
	require.Greater(t, noPointers, uint64(1<<20))
	require.LessOrEqual(t, readNoPointers, uint64(around))
	require.Less(t, p.Bytes, pointers+4<<20) // the program's variables and tables of functions
	require.Less(t, p.Copies, 100)
}

// lender is a recorder that lends constants, as a frozen process does.
type lender struct{ recorder }

func (l *lender) Lend(r image.Range) []byte {
	b, err := l.Source.Copy([]image.Range{r})
	if err != nil || uint64(len(b[0])) < r.Len {
		return nil
	}
	return b[0]
}

// A program's tables of functions and types are not copied where they can be lent.
func TestTablesAreLent(t *testing.T) {
	p := imagetest.Record(t)
	functions := p.Section(".gopclntab")
	table, size := functions.Addr, functions.Len
	require.Positive(t, size)
	load := func(source image.Source) *goruntime.Model {
		p.Mend()
		m, err := p.Load(source)
		require.NoError(t, err)
		return m
	}
	copying := &recorder{Source: p}
	load(copying)
	require.GreaterOrEqual(t, copying.within(table, table+size), size/2)
	lending := &lender{recorder{Source: p}}
	m := load(lending)
	require.Less(t, lending.within(table, table+size), uint64(16<<10), "but for what lies beside")
	for _, mod := range m.Modules {
		require.GreaterOrEqual(t, lending.within(mod.Data, mod.EData), mod.EData-mod.Data, "variables are no constants")
	}
}
