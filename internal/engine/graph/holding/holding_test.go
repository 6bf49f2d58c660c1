package holding_test

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/holding"
	heaproot "github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const pkg = "github.com/leakgate/leakgate/internal/engine/graph/holding_test."

// What variables and paths hold is what the judge says, object by object, in each of two images of
// the same graph, whatever GOMAXPROCS is, by edges and by walking.
func TestJudgeOnHeld(t *testing.T) {
	heaptest.Long(t)
	defer clearVariables()
	seed := heaptest.Seed(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	sizes, sum := []int{2, 4, 8, 16, 40, 100}, 0
	for round := range require.Rounds(6, 60) {
		g, kept := buildGraph(rand.New(rand.NewPCG(seed, uint64(round))), sizes[round%len(sizes)])
		j := newHJudge(g)
		kept.during(func() {
			for _, procs := range []int{1, 4} {
				runtime.GOMAXPROCS(procs)
				sum += j.sameHeld(t, round, procs == 4)
			}
		})
	}
	t.Logf("%d objects held", sum)
	require.Positive(t, sum)
}

// sameHeld compares what variables and paths hold. It returns a sum over all of them.
func (j *hJudge) sameHeld(t *testing.T, round int, walks bool) (sum int) {
	t.Helper()
	p := heaptest.Capture(t)
	defer func() { require.NoError(t, p.Close()) }()
	h := holding.New(p.Heap, p.Program())
	defer h.Release()
	if walks {
		h.OnlyWalk()
	}
	compare := func(name string, q hQuery) {
		want := j.holds(q)
		found, err := h.Find(gateOf(pkg+name), nil)
		require.NoError(t, err)
		for addr := range j.alive {
			object, err := p.Heap.Target(uint64(addr))
			require.NoError(t, err, "it is alive")
			has := found.Part.Within != nil && found.Part.Within.Has(object.Object)
			if has != want[addr] {
				t.Errorf("round %d: %s holds the %s at %#x: %v, the judge says %v", round, name, object.Type, addr, has, want[addr])
			}
		}
		require.EqualValues(t, len(want), objectsWithin(found.Roots), "round %d: objects that %s holds", round, name)
		require.EqualValues(t, j.beyond(q, want), found.Beyond.Objects, "round %d: objects that %s leads to beyond", round, name)
		sum += len(want)
	}
	for _, v := range j.variables {
		if v.kind == hPackage {
			compare(v.name, hQuery{variable: v})
		}
	}
	for path, things := range j.paths {
		compare(path, hQuery{things: things})
	}
	return sum
}

// gateOf selects the node with a path.
func gateOf(path string) holding.Query {
	return func(p string, _ *heaproot.Root) attribute.Selection {
		switch {
		case p == path:
			return attribute.In
		case strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"["):
			return attribute.Through
		}
		return attribute.Out
	}
}

func objectsWithin(nodes []*attribute.Node) (objects int64) {
	for _, n := range nodes {
		if n.IsWithin() {
			objects += n.Objects
		}
		objects += objectsWithin(n.Children)
	}
	return objects
}

// A query that follows edges ends at the deadline, too.
func TestQueryIsInTime(t *testing.T) {
	many := make([]**int, 2*goruntime.ObjectsBetween)
	for i := range many {
		many[i] = new(*int)
	}
	p := heaptest.Capture(t)
	h := holding.New(p.Heap, p.Program())
	defer h.Release()
	h.LayOut()
	p.LooksAtDeadline(t, h.FindElements)
	runtime.KeepAlive(many)
}
