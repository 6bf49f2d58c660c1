package refscan_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/retain"
	heaproot "github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/judge"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// trial is one frozen image, with the results of the engine and of the judge.
type trial struct {
	model     *goruntime.Model
	index     *debuginfo.Index
	graph     *typedheap.Heap
	result    *attribute.Result
	retention *retain.Result
	judge     *judge.Graph
}

// judged freezes the process and calls check with both results.
func judged(t *testing.T, check func(trial)) {
	t.Helper()
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	tr := trial{model: s.Model(), index: s.Index()}

	tr.graph, err = typedheap.Build(tr.model, tr.index, typedheap.Options{})
	require.NoError(t, err)
	tr.result, tr.retention = retain.Run(tr.graph, refscan.Program(), nil)

	_, greenTea := tr.index.TypeByName("runtime.spanInlineMarkBits")
	inMaking, ok := tr.index.GlobalByName("runtime.inProgress")
	require.True(t, ok)
	heap := judge.NewHeap(tr.model.Mem, tr.model, greenTea, inMaking.Addr+tr.model.Bias())
	tr.judge, err = heap.Reachable()
	require.NoError(t, err)
	check(tr)
}

// sameReach compares the sets of reachable objects, object by object. There are more than least.
func (tr trial) sameReach(t *testing.T, least int) {
	t.Helper()
	alive := make(map[uint32]bool)
	for _, o := range tr.judge.Objects {
		alive[o.Number] = true
	}
	require.Greater(t, len(alive), least)
	for i := range tr.model.Spans {
		s := &tr.model.Spans[i]
		for k := range s.NElems {
			obj := s.FirstObj + k
			if alive[obj] == tr.graph.Live.Marked.Has(obj) {
				continue // the loop is too long for an assertion each time
			}
			require.Equal(t, alive[obj], tr.graph.Live.Marked.Has(obj), "the judge and the engine on the object of %d bytes at %#x", s.ElemSize, s.Addr(obj))
		}
	}
}

func TestJudgeOnCorpus(t *testing.T) {
	long(t)
	fillCorpus()
	judged(t, func(tr trial) {
		tr.sameReach(t, 1000)
		t.Logf("%d objects, %d roots", len(tr.judge.Objects), len(tr.judge.Roots))
		_, _, ok := tr.retention.Find(nil, nil)
		require.True(t, ok)
		require.Zero(t, tr.retention.Unexplained(), "objects that the report's roots do not reach")
		compared := 0
		for _, n := range tr.result.Roots {
			if strings.HasPrefix(n.Name, pkg+"g") && n.Root.Kind == heaproot.KindGlobal && n.Type != "string" {
				tr.retainedByVariable(t, n)
				compared++
			}
		}
		require.Greater(t, compared, 25)
	})
	runtime.KeepAlive(gPointer)
}

// compilerMade are variables whose data the compiler made: clearing them frees less than the report
// says, since the report counts that data as the variable's.
var compilerMade = map[string]bool{pkg + "gLiteral": true}

// retainedByVariable compares what a root retains with the objects that are not reached without the
// variable's words. Blocks of the tiny allocator are freed whole, but the values in them are
// counted one by one. So the figure may be less than the blocks, if they have other values, and
// more, by values in blocks that something else keeps.
func (tr trial) retainedByVariable(t *testing.T, n *attribute.Node) {
	t.Helper()
	if compilerMade[n.Name] {
		return
	}
	stays := tr.judge.Without(tr.rootWords(t, n.Name), nil)
	freed, least, most := int64(0), int64(0), int64(0)
	for i, o := range tr.judge.Objects {
		if stays[i] {
			continue
		}
		freed += int64(o.Size)
		most += int64(o.Size)
		if !o.Tiny {
			least += int64(o.Size)
		}
		for _, to := range tr.judge.Succ[i] {
			if tr.judge.Objects[to].Tiny {
				most += 16
			}
		}
	}
	held := tr.retention.Held(n)
	require.LessOrEqual(t, least, held.Bytes, "%s: %d bytes are freed", n.Name, freed)
	require.GreaterOrEqual(t, most, held.Bytes, "%s: %d bytes are freed", n.Name, freed)
}

// Each object has a type that some reference gives it; if all references agree, it is that type.
// The judge does not see into maps, channels and closures. The engine also knows the type that a
// larger object was allocated with.
func TestJudgeOnTypes(t *testing.T) {
	long(t)
	require.Slow(t)
	fillCorpus()
	judged(t, func(tr trial) {
		types := tr.judge.Types(tr.index, tr.model.Bias())
		compared, certain := 0, 0
		for i, names := range types {
			o := tr.judge.Objects[i]
			n := tr.retention.ChargedTo(o.Number)
			if o.Tiny || n == nil || !strings.HasPrefix(n.Top().Name, pkg+"g") {
				continue
			}
			got := typeOf(tr.graph, o.Number)
			require.True(t, names[got], "the object that %s of %s leads to is a %s, references say %v", n.Name, n.Top().Name, got, names)
			compared++
			if len(names) == 1 {
				certain++
			}
		}
		t.Logf("%d objects, %d of which all references give one type", compared, certain)
		require.Greater(t, certain, 1000)
	})
}

// typeOf returns the type of a reference to an object, "" if it is not known.
func typeOf(h *typedheap.Heap, obj uint32) string {
	if of := h.Typings.Of(obj); of.Type != 0 {
		return typing.RefName(h.Types, of)
	}
	return ""
}
