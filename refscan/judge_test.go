package refscan_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	heaproot "github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestJudgeOnCorpus(t *testing.T) {
	long(t)
	fillCorpus()
	tr := heaptest.Judged(t)
	tr.SameReach(t, 1000)
	t.Logf("%d objects, %d roots", len(tr.Judge.Objects), len(tr.Judge.Roots))
	_, _, ok := tr.Retention.Find(nil, nil)
	require.True(t, ok)
	require.Zero(t, tr.Retention.Unexplained(), "objects that the report's roots do not reach")
	compared := 0
	for _, n := range tr.Result.Roots {
		if strings.HasPrefix(n.Name, pkg+"g") && n.Root.Kind == heaproot.KindGlobal && n.Type != "string" {
			retainedByVariable(t, tr, n)
			compared++
		}
	}
	require.Greater(t, compared, 25)
	runtime.KeepAlive(gPointer)
}

// compilerMade are variables whose data the compiler made: clearing them frees less than the report
// says, since the report counts that data as the variable's.
var compilerMade = map[string]bool{pkg + "gLiteral": true}

// retainedByVariable compares what a root retains with the objects that are not reached without the
// variable's words. Blocks of the tiny allocator are freed whole, but the values in them are
// counted one by one. So the figure may be less than the blocks, if they have other values, and
// more, by values in blocks that something else keeps.
func retainedByVariable(t *testing.T, tr *heaptest.Trial, n *attribute.Node) {
	t.Helper()
	if compilerMade[n.Name] {
		return
	}
	stays := tr.Judge.Without(tr.WordsOf(t, n.Name), nil)
	freed, least, most := int64(0), int64(0), int64(0)
	for i, o := range tr.Judge.Objects {
		if stays[i] {
			continue
		}
		freed += int64(o.Size)
		most += int64(o.Size)
		if !o.Tiny {
			least += int64(o.Size)
		}
		for _, to := range tr.Judge.Succ[i] {
			if tr.Judge.Objects[to].Tiny {
				most += 16
			}
		}
	}
	held := tr.Retention.Held(n)
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
	tr := heaptest.Judged(t)
	types := tr.Judge.Types(tr.Index(), tr.Model().Bias())
	compared, certain := 0, 0
	for i, names := range types {
		o := tr.Judge.Objects[i]
		n := tr.Retention.ChargedTo(o.Number)
		if o.Tiny || n == nil || !strings.HasPrefix(n.Top().Name, pkg+"g") {
			continue
		}
		got := tr.TypeOf(o.Number)
		require.True(t, names[got], "the object that %s of %s leads to is a %s, references say %v", n.Name, n.Top().Name, got, names)
		compared++
		if len(names) == 1 {
			certain++
		}
	}
	t.Logf("%d objects, %d of which all references give one type", compared, certain)
	require.Greater(t, certain, 1000)
}
