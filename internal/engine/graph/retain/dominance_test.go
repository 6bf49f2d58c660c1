package retain

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/edges"
	"github.com/leakgate/leakgate/internal/testkit/judge"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A testGraph is an object graph with labels; roots are reached without any other vertex.
type testGraph struct {
	succ   [][]int
	labels [][]uint32
	roots  []int
	dense  int // see analysis; 0: by the size of the graph
}

// analyse runs the computation over the graph.
func (g testGraph) analyse() *analysis { return g.limited(maxCells) }

// limited is analyse with a bound on the cells of sets.
func (g testGraph) limited(cells int) *analysis {
	n := 0
	for _, succ := range g.succ {
		n += len(succ)
	}
	graph, _ := edges.New(uint64(len(g.succ)), uint64(n))
	w := edges.Writer{Graph: graph}
	for v, succ := range g.succ {
		w.Begin(uint32(v))
		for _, to := range succ {
			w.Edge(uint32(to))
		}
		w.End()
	}
	labels := labelling{append([][]uint32{nil}, g.labels...), func(v uint32) uint32 { return v + 1 }}
	d := newLimited(graph, labels, cells)
	if g.dense > 0 {
		d.dense = g.dense
	}
	for _, v := range g.roots {
		d.addRoot(uint32(v))
	}
	d.run()
	return d
}

func (a *analysis) labelsOf(v int) []uint32 {
	var list []uint32
	for set := a.through(uint32(v)); set != 0; {
		var label uint32
		label, set = a.split(set)
		list = append(list, label)
	}
	slices.Reverse(list)
	return list
}

// The judge removes a label's vertices, and finds the vertices that are not reached any more.
func TestDominanceOfRandomGraphs(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		n, labels := 1+rng.IntN(30), 1+rng.IntN(12)
		g := testGraph{succ: make([][]int, n), labels: make([][]uint32, n), roots: []int{rng.IntN(n)}, dense: rng.IntN(4)}
		for range rng.IntN(3) {
			g.roots = append(g.roots, rng.IntN(n))
		}
		for range rng.IntN(3 * n) {
			v := rng.IntN(n)
			g.succ[v] = append(g.succ[v], rng.IntN(n))
		}
		for v := range g.labels {
			for range rng.IntN(3) {
				g.labels[v] = append(g.labels[v], uint32(1+rng.IntN(labels)))
			}
			slices.Sort(g.labels[v])
			g.labels[v] = slices.Compact(g.labels[v])
		}
		d := g.analyse()
		succ := func(v int) []int { return g.succ[v] }
		all := judge.Reach(n, g.roots, succ, nil)
		for v := range n {
			if !all[v] {
				require.False(t, d.reached(uint32(v)), "seed %d", seed)
			}
		}
		for label := uint32(1); label <= uint32(labels); label++ {
			left := judge.Reach(n, g.roots, succ, func(v int) bool { return slices.Contains(g.labels[v], label) })
			for v := range n {
				if all[v] {
					require.Equal(t, !left[v], slices.Contains(d.labelsOf(v), label), "seed %d: label %d retains vertex %d of %+v", seed, label, v, g)
				}
			}
		}
	}
}

// For any graph, the sets take limited memory, and full reports that they reached the limit.
func TestDominanceIsBounded(t *testing.T) {
	g := tangle(10_000)
	need := len(g.analyse().sets.cells)
	d := g.limited(need - 1)
	require.True(t, d.full())
	require.Len(t, d.sets.cells, need-1)
	require.False(t, g.limited(need).full())
}

// list returns a list of n elements with a payload each, doubly linked or not. The root refers to
// both ends.
func list(n int, double bool) testGraph {
	g := testGraph{succ: make([][]int, 2*n+1), labels: make([][]uint32, 2*n+1), roots: []int{2 * n}}
	g.succ[2*n], g.labels[2*n] = []int{0, n - 1}, []uint32{1}
	for i := range n {
		if i+1 < n {
			g.succ[i] = append(g.succ[i], i+1)
		}
		if double && i > 0 {
			g.succ[i] = append(g.succ[i], i-1)
		}
		g.succ[i] = append(g.succ[i], n+i)
		g.labels[i], g.labels[n+i] = []uint32{2}, []uint32{3}
	}
	return g
}

// tree returns a binary tree with a label for each of its first vertices, as fields have.
func tree(n int) testGraph {
	g := testGraph{succ: make([][]int, n), labels: make([][]uint32, n), roots: []int{0}}
	for i := range n {
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < n {
				g.succ[i] = append(g.succ[i], c)
			}
		}
		g.labels[i] = []uint32{uint32(min(i+1, 200))}
	}
	return g
}

// mesh returns layers of vertices, which refer to several vertices of the next layer each: nothing
// retains the vertices below.
func mesh(n int) testGraph {
	const layer = 10
	g := testGraph{succ: make([][]int, n), labels: make([][]uint32, n)}
	for i := range n {
		for k := range 5 {
			if c := (i/layer+1)*layer + (i+k*3)%layer; c < n {
				g.succ[i] = append(g.succ[i], c)
			}
		}
		g.labels[i] = []uint32{uint32(1 + i%(7*layer))}
		if i < layer {
			g.roots = append(g.roots, i)
		}
	}
	return g
}

// tangle returns a random graph in which references prefer near vertices.
func tangle(n int) testGraph {
	rng := rand.New(rand.NewPCG(7, 7))
	g := testGraph{succ: make([][]int, n), labels: make([][]uint32, n), roots: []int{0, n / 2}}
	for i := range n {
		g.succ[i] = append(g.succ[i], (i+1)%n)
		for range 3 {
			c := (i + rng.IntN(20)) % n
			if rng.IntN(10) == 0 {
				c = rng.IntN(n)
			}
			g.succ[i] = append(g.succ[i], c)
		}
		g.labels[i] = []uint32{uint32(1 + i*40/n)}
	}
	return g
}

// The work grows with the number of references and not faster, however deep the graph: it is
// counted, not timed.
func TestDominanceIsLinear(t *testing.T) {
	for name, graph := range map[string]func(n int) testGraph{
		"list":        func(n int) testGraph { return list(n, false) },
		"double list": func(n int) testGraph { return list(n, true) },
		"tree":        tree,
		"mesh":        mesh,
		"tangle":      tangle,
	} {
		t.Run(name, func(t *testing.T) {
			work := func(n int) (perEdge float64) {
				d := graph(n).analyse()
				require.Equal(t, -1, slices.Index(d.in, unreached), "a vertex that is not reached")
				t.Logf("%d vertices, %d edges: %d looked at, %d cells of sets, %d cells made", len(d.in), d.graph.Room(), d.edgesSeen, d.sets.steps, len(d.sets.cells))
				return float64(d.edgesSeen+d.sets.steps) / float64(d.graph.Room())
			}
			small, large := work(10_000), work(300_000)
			require.LessOrEqual(t, large, 1.2*small+0.2, "work for a reference in a graph thirty times as large")
			require.LessOrEqual(t, large, 12.0)
		})
	}
}
