// Package heaptest builds heaps for tests: of a recorded program, of this process, and of random
// objects.
package heaptest

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Build builds the heap of a recorded program anew.
func Build(tb testing.TB, p *imagetest.Program, options typedheap.Options) *typedheap.Heap {
	tb.Helper()
	m, err := p.Load(p)
	require.NoError(tb, err)
	h, err := typedheap.Build(m, p.Index, options)
	require.NoError(tb, err)
	return h
}
