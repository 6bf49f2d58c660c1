package refscan_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/retain"
	heaproot "github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/testkit/judge"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Types of random object graphs. Objects are at least 16 bytes or hold pointers, so that none
// shares a block.
type (
	knot struct {
		id    int
		a, b  *knot
		other *corner
		list  []*knot
		any   any
		fn    func() *knot
	}
	corner struct {
		back *knot
		data []byte
		in   struct{ x, y *knot }
		rest container
	}
	container struct {
		m  map[int]*knot
		k  map[*knot]*corner
		ch chan *knot
	}
)

// The roots of random graphs.
var (
	rPointer *knot
	rSlice   []*knot
	rStruct  struct {
		x, y *knot
		c    *corner
	}
	rAny   any
	rFunc  func() *knot
	rArray [4]*knot
	rMap   map[int]*knot
)

var randomRoots = []string{"rPointer", "rSlice", "rStruct", "rAny", "rFunc", "rArray", "rMap"}

// made is what the builder knows of an object: the address is a number here, so that it keeps
// nothing alive.
type made struct {
	addr uintptr
	typ  string
}

// buildRandom fills the roots with a graph of about 2n objects.
//
//go:noinline
func buildRandom(rng *rand.Rand, n int, containers bool) []made {
	rPointer, rSlice, rAny, rFunc, rArray, rMap = nil, nil, nil, nil, [4]*knot{}, nil
	rStruct.x, rStruct.y, rStruct.c = nil, nil, nil
	vs, cs := make([]*knot, n), make([]*corner, n/4+1)
	var all []made
	for i := range vs {
		vs[i] = &knot{id: i}
		all = append(all, made{uintptr(unsafe.Pointer(vs[i])), "*" + pkg + "knot"})
	}
	for i := range cs {
		cs[i] = &corner{data: make([]byte, 32+rng.IntN(3000))}
		all = append(all, made{uintptr(unsafe.Pointer(cs[i])), "*" + pkg + "corner"})
	}
	// Edges prefer neighbours, which makes long paths; some lead anywhere.
	near := func(i int) *knot {
		if rng.IntN(4) == 0 {
			return vs[rng.IntN(n)]
		}
		return vs[(i+rng.IntN(7))%n]
	}
	for i, v := range vs {
		if rng.IntN(2) == 0 {
			v.a = near(i)
		}
		if rng.IntN(3) == 0 {
			v.b = near(i)
		}
		switch rng.IntN(10) {
		case 0:
			v.other = cs[rng.IntN(len(cs))]
		case 1:
			for range 1 + rng.IntN(20) {
				v.list = append(v.list, near(i))
			}
		case 2:
			v.any = near(i)
		case 3:
			v.any = cs[rng.IntN(len(cs))].in
		case 4:
			to := near(i)
			v.fn = func() *knot { return to }
		}
	}
	for i, c := range cs {
		c.back, c.in.y = near(i*4%n), near(i*4%n)
		if !containers {
			continue
		}
		switch rng.IntN(4) {
		case 0:
			c.rest.m = make(map[int]*knot)
			for k := range 1 + rng.IntN(40) {
				c.rest.m[k] = near(i)
			}
		case 1:
			c.rest.k = map[*knot]*corner{near(i): cs[rng.IntN(len(cs))], near(i): cs[rng.IntN(len(cs))]}
		case 2:
			c.rest.ch = make(chan *knot, 8)
			for range 5 {
				c.rest.ch <- near(i)
			}
		}
	}
	pick := func() *knot { return vs[rng.IntN(n)] }
	rPointer, rStruct.x, rStruct.c, rArray[2] = pick(), pick(), cs[rng.IntN(len(cs))], pick()
	for range 5 {
		rSlice = append(rSlice, pick())
	}
	rAny = pick()
	to := pick()
	rFunc = func() *knot { return to }
	if containers {
		rMap = map[int]*knot{1: pick(), 2: pick()}
	}
	return all
}

// sizes are the sizes of random graphs; small graphs find most errors.
var sizes = []int{3, 10, 40, 150, 600}

func TestJudgeOnRandomGraphs(t *testing.T) {
	long(t)
	require.Slow(t)
	seed := rand.Uint64()
	if s := os.Getenv("LEAKGATE_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("LEAKGATE_SEED=%d makes these graphs again", seed)
	emptyCorpus()
	for _, containers := range []bool{false, true} {
		for i, n := range sizes {
			t.Run(fmt.Sprintf("containers=%v/%d", containers, n), func(t *testing.T) {
				all := buildRandom(rand.New(rand.NewPCG(seed, uint64(i))), n, containers)
				judged(t, func(tr trial) {
					tr.sameReach(t, len(all))
					tr.sameTypes(t, all)
					if !containers { // the parts of a map or channel have distance 0 from it
						tr.nearestRoots(t)
					}
					tr.sameRetained(t, rand.New(rand.NewPCG(seed, uint64(i))), !containers)
					tr.sameRetainedByObjects(t, rand.New(rand.NewPCG(seed, uint64(i))), !containers)
				})
			})
		}
	}
	buildRandom(rand.New(rand.NewPCG(1, 1)), 1, false)
}

// sameTypes compares the types found for objects with the types that they were made with.
func (tr trial) sameTypes(t *testing.T, all []made) {
	t.Helper()
	compared := 0
	for _, m := range all {
		i := tr.judge.Find(uint64(m.addr))
		if i == judge.None {
			continue
		}
		n := tr.retention.ChargedTo(tr.judge.Objects[i].Number)
		require.NotNil(t, n, "%s is charged to nobody", m.typ)
		require.Equal(t, m.typ, n.Type, "the type of what %s of %s leads to", n.Name, n.Top().Name)
		compared++
	}
	require.Positive(t, compared)
}

// rootWords returns a function that reports whether a root word belongs to a package variable.
func (tr trial) rootWords(t *testing.T, name string) func(judge.RootWord) bool {
	t.Helper()
	v, ok := tr.index.GlobalByName(name)
	require.True(t, ok, name)
	lo := v.Addr + tr.model.Bias()
	return func(r judge.RootWord) bool { return lo <= r.Addr && r.Addr < lo+uint64(v.Size) }
}

// nearestRoots checks that each object is charged to a root than which no other is nearer. It also
// checks the sums of the roots: at least the objects that are nearest to this root alone, at most
// the objects to which no root is nearer.
func (tr trial) nearestRoots(t *testing.T) {
	t.Helper()
	distances := make(map[string][]int)
	nearest := make([]int, len(tr.judge.Objects))
	for _, name := range randomRoots {
		d := tr.judge.Distances(tr.rootWords(t, pkg+name))
		distances[pkg+name] = d
		for i, n := range d {
			if n != 0 && (nearest[i] == 0 || n < nearest[i]) {
				nearest[i] = n
			}
		}
	}
	least, most := make(map[string]int64), make(map[string]int64)
	for i, o := range tr.judge.Objects {
		if nearest[i] == 0 {
			continue
		}
		n := tr.retention.ChargedTo(o.Number)
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
	for _, n := range randomNodes(tr.result.Roots) {
		sums[n.Top().Name] += n.Bytes
	}
	for i, o := range tr.judge.Objects {
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
		if strings.HasPrefix(n.Name, pkg+"r") && n.Root.Kind == heaproot.KindGlobal {
			for _, name := range randomRoots {
				if n.Name == pkg+name {
					add(n)
				}
			}
		}
	}
	return list
}

// sameRetained compares what each node below the random roots retains, and what some groups of
// nodes retain, with the objects that are not reached without them. count says whether every object
// counts as one.
func (tr trial) sameRetained(t *testing.T, rng *rand.Rand, count bool) {
	t.Helper()
	nodes := randomNodes(tr.result.Roots)
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
	together, _, ok := tr.retention.Find(groups, nil)
	require.True(t, ok)
	require.Zero(t, tr.retention.Unexplained(), "objects that the report's roots do not reach")

	chargedTo := make([]*attribute.Node, len(tr.judge.Objects))
	for i, o := range tr.judge.Objects {
		chargedTo[i] = tr.retention.ChargedTo(o.Number)
	}
	for _, n := range nodes {
		tr.check(t, []*attribute.Node{n}, tr.retention.Held(n), chargedTo, count)
	}
	for i, g := range groups {
		tr.check(t, g, together[i], chargedTo, count)
	}
	t.Logf("%d nodes, %d groups, %d objects", len(nodes), len(groups), len(tr.judge.Objects))
}

// sameRetainedByObjects compares what the objects of each type, and of some sets of nodes, retain
// together with the objects that are not reached without them.
func (tr trial) sameRetainedByObjects(t *testing.T, rng *rand.Rand, count bool) {
	t.Helper()
	nodes := randomNodes(tr.result.Roots)
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
	_, held, ok := tr.retention.Find(nil, sets)
	require.True(t, ok)
	require.Len(t, held, len(sets))
	for i, set := range sets {
		in := make(map[*attribute.Node]bool)
		for _, n := range set {
			in[n] = true
		}
		stays := tr.judge.Without(nil, func(i int) bool {
			n := tr.retention.ChargedTo(tr.judge.Objects[i].Number)
			return in[n] && typeOf(tr.graph, tr.judge.Objects[i].Number) == n.Type
		})
		var want retain.Held
		for i, o := range tr.judge.Objects {
			n := tr.retention.ChargedTo(o.Number)
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
	t.Logf("%d nodes, %d types, %d objects", len(nodes), types, len(tr.judge.Objects))
}

// check compares what a set of nodes retains with the judge.
func (tr trial) check(t *testing.T, set []*attribute.Node, held retain.Held, chargedTo []*attribute.Node, count bool) {
	t.Helper()
	in := make(map[*attribute.Node]bool)
	for _, n := range set {
		in[n] = true
	}
	without := func(n *attribute.Node) []bool {
		return tr.judge.Without(tr.rootWords(t, n.Name), nil)
	}
	var stays []bool
	if n := set[0]; n == n.Top() {
		stays = without(n)
	} else {
		stays = tr.judge.Without(nil, func(i int) bool { return in[chargedTo[i]] })
	}
	ofRoot := make(map[*attribute.Node][]bool)
	for _, n := range set {
		if ofRoot[n.Top()] == nil {
			ofRoot[n.Top()] = without(n.Top())
		}
	}
	var want retain.Held
	for i, o := range tr.judge.Objects {
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
