package heaptype

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/parallel"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A panic, while types are made or when they are published, reaches the goroutine that requested
// the type, keeps no other goroutine waiting, and leaves nothing locked. Types that outlive a
// snapshot are forgotten: one may be half made.
func TestFaultKeepsNobodyWaiting(t *testing.T) {
	p := imagetest.Record(t)
	m, err := p.Load(p)
	require.NoError(t, err)
	ask := func(tt *Table) func() {
		return func() {
			parallel.Do(4, func(i int) { tt.ByID(debuginfo.TypeID(i + 1)) })
		}
	}
	tt, err := NewTable(m, p.Index, false)
	require.NoError(t, err)
	before := kept.program.Swap(tt.program)
	defer kept.program.Store(before)
	tt.make.names = nil // making a type panics
	require.Panics(t, ask(tt))
	require.True(t, kept.program.Load() == nil, "still kept")
	require.True(t, tt.mu.TryLock(), "locked after a type was asked for")

	tt, err = NewTable(m, p.Index, false)
	require.NoError(t, err)
	tt.make.types = append(tt.make.types, nil) // publish panics at it
	require.Panics(t, ask(tt))
	require.True(t, tt.mu.TryLock(), "locked after publishing")
}
