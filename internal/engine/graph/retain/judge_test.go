package retain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/retain"
	heaproot "github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/judge"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// sizes are the sizes of random graphs; small graphs find most errors.
var sizes = []int{3, 10, 40, 150, 600}

func TestJudgeOnRandomGraphs(t *testing.T) {
	heaptest.Long(t)
	seed := heaptest.Seed(t)
	defer heaptest.ClearGraph()
	sizes := sizes[:require.Rounds(2, len(sizes))]
	for _, containers := range []bool{false, true} {
		for i, n := range sizes {
			t.Run(fmt.Sprintf("containers=%v/%d", containers, n), func(t *testing.T) {
				all := heaptest.FillGraph(rand.New(rand.NewPCG(seed, uint64(i))), n, containers)
				tr := trial{heaptest.Judged(t)}
				tr.SameReach(t, len(all))
				tr.sameTypes(t, all)
				if !containers { // the parts of a map or channel have distance 0 from it
					tr.nearestRoots(t)
				}
				tr.sameRetained(t, rand.New(rand.NewPCG(seed, uint64(i))), !containers)
				tr.sameRetainedByObjects(t, rand.New(rand.NewPCG(seed, uint64(i))), !containers)
			})
		}
	}
}

// trial is one frozen image, with the results of the engine and of the judge.
type trial struct{ *heaptest.Trial }

// sameTypes compares the types found for objects with the types that they were made with.
func (tr trial) sameTypes(t *testing.T, all []heaptest.Made) {
	t.Helper()
	compared := 0
	for _, m := range all {
		i := tr.Judge.Find(uint64(m.Addr))
		if i == judge.None {
			continue
		}
		n := tr.Retention.ChargedTo(tr.Judge.Objects[i].Number)
		require.NotNil(t, n, "%s is charged to nobody", m.Type)
		require.Equal(t, m.Type, n.Type, "the type of what %s of %s leads to", n.Name, n.Top().Name)
		compared++
	}
	require.Positive(t, compared)
}

// nearestRoots checks that each object is charged to a root than which no other is nearer. It also
// checks the sums of the roots: at least the objects that are nearest to this root alone, at most
// the objects to which no root is nearer.
func (tr trial) nearestRoots(t *testing.T) {
	t.Helper()
	distances := make(map[string][]int)
	nearest := make([]int, len(tr.Judge.Objects))
	for _, name := range heaptest.Roots {
		d := tr.Judge.Distances(tr.WordsOf(t, name))
		distances[name] = d
		for i, n := range d {
			if n != 0 && (nearest[i] == 0 || n < nearest[i]) {
				nearest[i] = n
			}
		}
	}
	least, most := make(map[string]int64), make(map[string]int64)
	for i, o := range tr.Judge.Objects {
		if nearest[i] == 0 {
			continue
		}
		n := tr.Retention.ChargedTo(o.Number)
		require.NotNil(t, n)
		d := distances[n.Top().Name]
		require.NotNil(t, d, "an object that random roots reach is charged to %s of %s", n.Name, n.Top().Name)
		require.Equal(t, nearest[i], d[i], "references from the root %s that the object at %s is charged to", n.Top().Name, n.Name)
		var ties []string
		for name, d := range distances {
			if d[i] == nearest[i] {
				ties = append(ties, name)
			}
		}
		for _, name := range ties {
			most[name] += int64(o.Size)
			if len(ties) == 1 {
				least[name] += int64(o.Size)
			}
		}
	}
	sums, all := make(map[string]int64), int64(0)
	for _, n := range randomNodes(tr.Result.Roots) {
		sums[n.Top().Name] += n.Bytes
	}
	for i, o := range tr.Judge.Objects {
		if nearest[i] != 0 {
			all += int64(o.Size)
		}
	}
	for name, sum := range sums {
		require.LessOrEqual(t, least[name], sum, name)
		require.GreaterOrEqual(t, most[name], sum, name)
		all -= sum
	}
	require.Zero(t, all, "the roots' sums are those of all objects")
}

// randomNodes lists the nodes below the roots of random graphs.
func randomNodes(roots []*attribute.Node) []*attribute.Node {
	var list []*attribute.Node
	var add func(n *attribute.Node)
	add = func(n *attribute.Node) {
		list = append(list, n)
		for _, c := range n.Children {
			add(c)
		}
	}
	for _, n := range roots {
		if n.Root.Kind == heaproot.KindGlobal && slices.Contains(heaptest.Roots, n.Name) {
			add(n)
		}
	}
	return list
}

// sameRetained compares what each node below the random roots retains, and what some groups of
// nodes retain, with the objects that are not reached without them. count says whether every object
// counts as one.
func (tr trial) sameRetained(t *testing.T, rng *rand.Rand, count bool) {
	t.Helper()
	nodes := randomNodes(tr.Result.Roots)
	var below []*attribute.Node // groups are of nodes that are not roots
	for _, n := range nodes {
		if n != n.Top() {
			below = append(below, n)
		}
	}
	rng.Shuffle(len(below), func(i, j int) { below[i], below[j] = below[j], below[i] })
	var groups [][]*attribute.Node
	for len(below) > 3 {
		k := 2 + rng.IntN(2)
		groups = append(groups, below[:k])
		below = below[k:]
	}
	together, _, ok := tr.Retention.Find(groups, nil)
	require.True(t, ok)
	require.Zero(t, tr.Retention.Unexplained(), "objects that the report's roots do not reach")

	chargedTo := make([]*attribute.Node, len(tr.Judge.Objects))
	for i, o := range tr.Judge.Objects {
		chargedTo[i] = tr.Retention.ChargedTo(o.Number)
	}
	for _, n := range nodes {
		tr.check(t, []*attribute.Node{n}, tr.Retention.Held(n), chargedTo, count)
	}
	for i, g := range groups {
		tr.check(t, g, together[i], chargedTo, count)
	}
	t.Logf("%d nodes, %d groups, %d objects", len(nodes), len(groups), len(tr.Judge.Objects))
}

// sameRetainedByObjects compares what the objects of each type, and of some sets of nodes, retain
// together with the objects that are not reached without them.
func (tr trial) sameRetainedByObjects(t *testing.T, rng *rand.Rand, count bool) {
	t.Helper()
	nodes := randomNodes(tr.Result.Roots)
	var sets [][]*attribute.Node
	number := make(map[string]int)
	for _, n := range nodes {
		if number[n.Type] == 0 {
			sets = append(sets, nil)
			number[n.Type] = len(sets)
		}
		sets[number[n.Type]-1] = append(sets[number[n.Type]-1], n)
	}
	types := len(sets)
	for range 10 { // roots are among them, and nodes that are in several sets
		set := make([]*attribute.Node, 1+rng.IntN(4))
		for i := range set {
			set[i] = nodes[rng.IntN(len(nodes))]
		}
		sets = append(sets, set)
	}
	_, held, ok := tr.Retention.Find(nil, sets)
	require.True(t, ok)
	require.Len(t, held, len(sets))
	for i, set := range sets {
		in := make(map[*attribute.Node]bool)
		for _, n := range set {
			in[n] = true
		}
		stays := tr.Judge.Without(nil, func(i int) bool {
			n := tr.Retention.ChargedTo(tr.Judge.Objects[i].Number)
			return in[n] && tr.TypeOf(tr.Judge.Objects[i].Number) == n.Type
		})
		var want retain.Retained
		for i, o := range tr.Judge.Objects {
			n := tr.Retention.ChargedTo(o.Number)
			switch {
			case !stays[i]:
				want.Objects++
				want.Bytes += int64(o.Size)
			case n != nil && inSubtree(n, in):
				want.SharedObjects++
				want.SharedBytes += int64(o.Size)
			}
		}
		if !count {
			want.Objects, want.SharedObjects = held[i].Objects, held[i].SharedObjects
		}
		require.Equal(t, want, held[i], "what the objects of %d nodes hold, the first at %s (%s) of %s", len(set), set[0].Name, set[0].Type, set[0].Top().Name)
	}
	t.Logf("%d nodes, %d types, %d objects", len(nodes), types, len(tr.Judge.Objects))
}

// check compares what a set of nodes retains with the judge.
func (tr trial) check(t *testing.T, set []*attribute.Node, held retain.Retained, chargedTo []*attribute.Node, count bool) {
	t.Helper()
	in := make(map[*attribute.Node]bool)
	for _, n := range set {
		in[n] = true
	}
	without := func(n *attribute.Node) []bool {
		return tr.Judge.Without(tr.WordsOf(t, n.Name), nil)
	}
	var stays []bool
	if n := set[0]; n == n.Top() {
		stays = without(n)
	} else {
		stays = tr.Judge.Without(nil, func(i int) bool { return in[chargedTo[i]] })
	}
	ofRoot := make(map[*attribute.Node][]bool)
	for _, n := range set {
		if ofRoot[n.Top()] == nil {
			ofRoot[n.Top()] = without(n.Top())
		}
	}
	var want retain.Retained
	for i, o := range tr.Judge.Objects {
		if !stays[i] {
			want.Objects++
			want.Bytes += int64(o.Size)
		}
		n := chargedTo[i]
		if n == nil {
			continue
		}
		if in[n] && !ofRoot[n.Top()][i] {
			want.RootObjects++
			want.RootBytes += int64(o.Size)
		}
		if inSubtree(n, in) && stays[i] {
			want.SharedObjects++
			want.SharedBytes += int64(o.Size)
		}
	}
	if !count {
		want.Objects, want.SharedObjects, want.RootObjects = held.Objects, held.SharedObjects, held.RootObjects
	}
	require.Equal(t, want, held, "what %d nodes hold, the first at %s (%s) of %s", len(set), set[0].Name, set[0].Type, set[0].Top().Name)
}

// inSubtree reports whether a node is one of a set, or below one.
func inSubtree(n *attribute.Node, set map[*attribute.Node]bool) bool {
	for ; n != nil; n = n.Parent() {
		if set[n] {
			return true
		}
	}
	return false
}
