package refscan_test

import (
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// vertex is an object of the graphs in which paths are searched.
type vertex struct {
	out     []*vertex
	named   map[string]*vertex
	any     any
	fn      func() *vertex
	self    *vertex
	ballast [8]uintptr
}

var (
	pathsRoot  *vertex
	pathsOther *vertex
	pathsSeq   iter.Seq[*vertex]
)

//go:noinline
func newVertex(out ...*vertex) *vertex { return &vertex{out: out} }

func written(p refscan.RetainingPath) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(p.Name, pkg))
	for _, st := range p.Steps {
		if st.Name != "" {
			b.WriteString(strings.TrimPrefix(symbol.JoinPath("x", st.Name), "x"))
		}
	}
	return b.String()
}

func pathsTo(t *testing.T, addr uintptr, q refscan.PathQuery) (*refscan.Retention, []string) {
	t.Helper()
	s, err := refscan.Capture()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	return pathsIn(t, s, addr, q)
}

// pathsIn is pathsTo for a snapshot that is there.
func pathsIn(t *testing.T, s *refscan.Snapshot, addr uintptr, q refscan.PathQuery) (*refscan.Retention, []string) {
	t.Helper()
	r, err := s.Paths(addr, q)
	require.NoError(t, err)
	var paths []string
	for _, p := range r.Paths {
		paths = append(paths, written(p))
	}
	return r, paths
}

func TestPaths(t *testing.T) {
	long(t)
	emptyCorpus()
	defer func() { pathsRoot, pathsOther = nil, nil }()
	var at uintptr
	build := func(f func() *vertex) { at = addressOf(f()) }

	t.Run("shortest first, then independent ones", func(t *testing.T) {
		build(func() *vertex {
			target := newVertex()
			shared := newVertex(target)
			pathsRoot = newVertex(newVertex(shared), newVertex(newVertex(shared)))
			pathsRoot.named = map[string]*vertex{"x": newVertex(newVertex(newVertex(target)))}
			pathsOther = newVertex(newVertex(newVertex(newVertex(newVertex(newVertex(newVertex(target)))))))
			pathsOther.any = pathsOther // a cycle
			return target
		})
		_, got := pathsTo(t, at, refscan.PathQuery{Limit: 5})
		assert.Equal(t, []string{
			"pathsRoot.out[0].out[0].out[0]",
			"pathsRoot.named.$mapval.out[0].out[0].out[0]",
			"pathsOther.out[0].out[0].out[0].out[0].out[0].out[0].out[0]",
		}, got)
	})

	t.Run("what all paths have in common", func(t *testing.T) {
		build(func() *vertex {
			target := newVertex()
			gate := newVertex(newVertex(target), target)
			gate.named = map[string]*vertex{"x": target}
			pathsRoot = newVertex(gate)
			pathsRoot.self = gate
			return target
		})
		_, got := pathsTo(t, at, refscan.PathQuery{Limit: 9})
		assert.Equal(t, []string{
			"pathsRoot.self.named.$mapval",
			"pathsRoot.self.out[1]",
			"pathsRoot.self.out[0].out[0]",
		}, got)
		pathsRoot.self = nil
		_, got = pathsTo(t, at, refscan.PathQuery{Limit: 9})
		assert.Equal(t, []string{
			"pathsRoot.out[0].named.$mapval",
			"pathsRoot.out[0].out[1]",
			"pathsRoot.out[0].out[0].out[0]",
		}, got)
	})

	t.Run("the only holder is held twice", func(t *testing.T) {
		build(func() *vertex {
			target := newVertex()
			holder := newVertex(target)
			pathsRoot, pathsOther = newVertex(holder), &vertex{self: newVertex(holder)}
			return target
		})
		_, got := pathsTo(t, at, refscan.PathQuery{Limit: 9})
		assert.Equal(t, []string{"pathsRoot.out[0].out[0]", "pathsOther.self.out[0].out[0]"}, got)
	})

	t.Run("a long list", func(t *testing.T) {
		const n = 100_000
		build(func() *vertex {
			target := newVertex()
			pathsRoot, pathsOther = target, nil
			for range n {
				pathsRoot = &vertex{self: pathsRoot}
			}
			return target
		})
		r, _ := pathsTo(t, at, refscan.PathQuery{Limit: 3})
		require.Len(t, r.Paths, 1)
		assert.Len(t, r.Paths[0].Steps, n+1)
		assert.EqualValues(t, 1, r.RetainedObjects)
	})

	t.Run("interior, boxed and captured", func(t *testing.T) {
		build(func() *vertex {
			target := newVertex()
			pathsRoot = &vertex{any: struct{ p *uintptr }{&target.ballast[3]}}
			pathsOther = newVertex()
			pathsOther.fn = func() *vertex { return target }
			return target
		})
		r, got := pathsTo(t, at+16, refscan.PathQuery{Limit: 3})
		assert.Equal(t, []string{"pathsRoot.any", "pathsOther.fn.target"}, got)
		assert.True(t, r.Inner)
		assert.Equal(t, "*"+pkg+"vertex", r.Type)
	})

	t.Run("ignored references and watched objects", func(t *testing.T) {
		var holder uintptr
		build(func() *vertex {
			target := newVertex()
			mid := newVertex(target)
			holder = addressOf(mid)
			pathsRoot = &vertex{self: mid}
			pathsOther = &vertex{named: map[string]*vertex{"k": target}}
			return target
		})
		ignore := func(holder, name string) bool { return strings.HasPrefix(holder, "map[") }
		s, err := refscan.Capture()
		require.NoError(t, err)
		defer s.Close()
		r, err := s.Paths(at, refscan.PathQuery{Limit: 4, Ignore: ignore, Watch: []uintptr{1, holder}})
		require.NoError(t, err)
		require.Len(t, r.Paths, 1)
		watched := []int{}
		for _, st := range r.Paths[0].Steps {
			watched = append(watched, st.Watched)
		}
		assert.Equal(t, "pathsRoot.self.out[0]", written(r.Paths[0]))
		assert.Contains(t, watched, 2)
	})
}

// The type of a closure of generic code leaves pointers out. Those that it has are followed once.
func TestPathsByGenericClosure(t *testing.T) {
	long(t)
	emptyCorpus()
	var at uintptr
	func() {
		target := newVertex()
		at = addressOf(target)
		pathsSeq = maps.Values(map[int]*vertex{1: target})
	}()
	defer func() { pathsSeq = nil }()
	_, got := pathsTo(t, at, refscan.PathQuery{Limit: 3})
	assert.Equal(t, []string{"pathsSeq.m.$mapval"}, got)
}

func TestPathsToOtherMemory(t *testing.T) {
	long(t)
	emptyCorpus()
	defer func() { pathsRoot, pathsOther = nil, nil }()
	t.Run("values that share a block", func(t *testing.T) {
		var kept, dropped *int32
		for range 200 { // some two values are neighbours
			kept, dropped = new(int32), new(int32)
			if addressOf(kept)&^15 == addressOf(dropped)&^15 {
				break
			}
		}
		if addressOf(kept)&^15 != addressOf(dropped)&^15 {
			return // with the race detector each value has a block of its own
		}
		at, gone := addressOf(kept), addressOf(dropped)
		pathsRoot = &vertex{any: kept}
		kept, dropped = nil, nil
		r, got := pathsTo(t, at, refscan.PathQuery{})
		assert.True(t, r.Shared)
		assert.Equal(t, []string{"pathsRoot.any"}, got)
		_, got = pathsTo(t, gone, refscan.PathQuery{})
		assert.Empty(t, got)
		runtime.KeepAlive(pathsRoot)
	})

	t.Run("not on the heap, not alive", func(t *testing.T) {
		s, err := refscan.Capture()
		require.NoError(t, err)
		_, err = s.Paths(addressOf(&pathsRoot), refscan.PathQuery{})
		require.ErrorIs(t, err, refscan.ErrNotOnHeap)
		assert.Equal(t, pkg+"pathsRoot", s.VariableAt(addressOf(&pathsRoot)))
		assert.Empty(t, s.VariableAt(8))
		require.NoError(t, s.Close())
		_, err = s.Paths(8, refscan.PathQuery{})
		unavailable := new(refscan.UnavailableError)
		require.ErrorAs(t, err, &unavailable)
	})
}

// Paths in random graphs are compared with the obvious algorithms on the graph as it was built.
func TestPathsOfRandomGraphs(t *testing.T) {
	long(t)
	require.Slow(t)
	emptyCorpus()
	defer func() { pathsRoot, pathsOther = nil, nil }()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 6 {
		const n = 60
		edges := make([][]int, n)
		for i := 1; i < n; i++ {
			from := rng.IntN(i) // so that all are reached
			edges[from] = append(edges[from], i)
		}
		for range n {
			from := rng.IntN(n)
			edges[from] = append(edges[from], rng.IntN(n))
		}
		addresses := make([]uintptr, n)
		func() {
			vs := make([]*vertex, n)
			for i := range vs {
				vs[i] = newVertex()
				addresses[i] = addressOf(vs[i])
			}
			for i, es := range edges {
				for _, to := range es {
					vs[i].out = append(vs[i].out, vs[to])
				}
			}
			pathsRoot = vs[0]
		}()
		distance, reached := naiveDistances(edges, -1)
		require.Equal(t, n, reached)

		s, err := refscan.Capture()
		require.NoError(t, err)
		for i := range n {
			r, err := s.Paths(addresses[i], refscan.PathQuery{})
			require.NoError(t, err)
			require.Len(t, r.Paths, 1)
			// An edge takes two steps: a reference to the slice, and a reference by one of its
			// elements.
			require.Len(t, r.Paths[0].Steps, 1+2*distance[i], "vertex %d", i)
			_, without := naiveDistances(edges, i)
			retained := int64(0) // vertices and their slices
			for v := range n {
				if without&(1<<v) == 0 {
					retained++
					if len(edges[v]) > 0 {
						retained++
					}
				}
			}
			require.Equal(t, retained, r.RetainedObjects, "vertex %d", i)
		}
		require.NoError(t, s.Close())
	}
}

// naiveDistances returns the distance of each vertex from the first one. reached is the number of
// vertices that are reached or, if a vertex is left out, a bit mask of them.
func naiveDistances(edges [][]int, without int) (distance []int, reached int) {
	distance = make([]int, len(edges))
	seen := make([]bool, len(edges))
	if without >= 0 {
		seen[without] = true
	}
	var level []int
	if without != 0 {
		seen[0], level = true, []int{0}
	}
	for d := 0; len(level) > 0; d++ {
		var next []int
		for _, v := range level {
			distance[v] = d
			if without < 0 {
				reached++
			} else {
				reached |= 1 << v
			}
			for _, to := range edges[v] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		level = next
	}
	return distance, reached
}
