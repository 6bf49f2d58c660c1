package edges_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/edges"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Each object that is alive, and is no part of another one, has the edges that a walk over it
// finds.
func TestLaidAsWalked(t *testing.T) {
	h := heaptest.Build(t, imagetest.Record(t), typedheap.Options{})
	var found []uint32
	var walk *edges.Walk
	walk = edges.NewWalk(h, func(e heaptype.Edge) {
		if to, ok := walk.Target(e.To); ok && e.Ref != heaptype.RefInternal {
			found = append(found, to.Node)
		}
	})
	g := edges.Lay(h, func(w *edges.Writer, node uint32) {
		found = found[:0]
		walk.From(node)
		for _, to := range found {
			w.Edge(to)
		}
	})
	require.NotNil(t, g)
	defer g.Release()
	objects, all := 0, 0
	for node := range h.NumNodes() {
		found = nil
		if node >= h.AnonymousBase() || h.Live.Marked.Has(node) && walk.TypingOf(node).Layout != heaptype.LayoutInternal && !h.Model.SpanOf(node).NoScan {
			walk.From(node)
			objects++
		}
		list := listOf(g, node)
		require.Equal(t, found, list)
		all += len(list)
		for _, to := range list {
			require.True(t, to >= h.AnonymousBase() || h.Live.Marked.Has(to))
		}
	}
	t.Logf("%d edges of %d objects", all, objects)
	require.Greater(t, all, 1000)
}

// Each object has a stretch of its own that is as long as it has words.
func TestLayout(t *testing.T) {
	h := heaptest.Build(t, imagetest.Record(t), typedheap.Options{})
	const behind = 10
	layout := edges.Plan(h.Model)
	g, w, ok := layout.New(uint64(h.Model.NumObjects)+1, behind)
	require.True(t, ok)
	defer g.Release()
	layout.Objects(g, func(w *edges.Writer, s *goruntime.Span, obj uint32) {
		w.Begin(obj)
		for i := range s.ElemSize / 8 {
			w.Edge(obj ^ uint32(i))
		}
		w.End()
	})
	w.Begin(h.Model.NumObjects)
	for i := range uint32(behind) {
		w.Edge(i)
	}
	w.End()
	require.Equal(t, g.Room(), int(w.At))
	require.Len(t, listOf(g, h.Model.NumObjects), behind)
	for obj := range h.Model.NumObjects {
		list, s := listOf(g, obj), h.Model.SpanOf(obj)
		if s.NoScan {
			require.Empty(t, list)
			continue
		}
		require.Len(t, list, int(s.ElemSize/8))
		for i, to := range list {
			require.Equal(t, obj^uint32(i), to)
		}
	}
}
