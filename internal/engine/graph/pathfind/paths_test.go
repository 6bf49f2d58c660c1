package pathfind_test

import (
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/graph/pathfind"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/heaptest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const pkg = "github.com/leakgate/leakgate/internal/engine/graph/pathfind_test."

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

// addressOf returns an address that keeps nothing alive.
func addressOf[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// written returns paths as text.
func written(found []pathfind.Path) (paths []string) {
	for _, p := range found {
		var b strings.Builder
		b.WriteString(strings.TrimPrefix(p.Root.Name, pkg))
		for _, st := range p.Steps {
			if st.Label != "" {
				b.WriteString(strings.TrimPrefix(symbol.JoinPath("x", st.Label), "x"))
			}
		}
		paths = append(paths, b.String())
	}
	return paths
}

// pathsTo finds paths to an object, and how many objects it retains, by edges and by walking.
func pathsTo(t *testing.T, addr uint64, limit int, ignore func(holder, label string) bool) (found []pathfind.Path, paths []string, objects int64) {
	t.Helper()
	p := heaptest.Capture(t)
	defer func() { require.NoError(t, p.Close()) }()
	f, walker := pathfind.New(p.Heap, p.Program(), ignore), pathfind.New(p.Heap, p.Program(), ignore)
	defer f.Release()
	walker.OnlyWalk()
	found, err := f.Paths(addr, limit)
	require.NoError(t, err)
	objects = same(t, f, walker, addr, limit, found)
	return found, written(found), objects
}

// same requires that a finder that walks finds the same. It returns how many objects are retained.
func same(t *testing.T, f, walker *pathfind.Finder, addr uint64, limit int, found []pathfind.Path) (objects int64) {
	t.Helper()
	walked, err := walker.Paths(addr, limit)
	require.NoError(t, err)
	require.Equal(t, walked, found)
	objects, bytes, err := f.Retained(addr)
	require.NoError(t, err)
	walkedObjects, walkedBytes, err := walker.Retained(addr)
	require.NoError(t, err)
	require.Equal(t, []int64{walkedObjects, walkedBytes}, []int64{objects, bytes})
	return objects
}

// A search that follows edges ends at the deadline, too.
func TestSearchIsInTime(t *testing.T) {
	for range 2 * goruntime.ObjectsBetween {
		pathsRoot = newVertex(pathsRoot)
	}
	defer func() { pathsRoot = nil }()
	p := heaptest.Capture(t)
	f := pathfind.New(p.Heap, p.Program(), nil)
	defer f.Release()
	retained := func() {
		_, _, err := f.Retained(addressOf(pathsRoot))
		require.NoError(t, err)
	}
	retained() // lays out edges
	p.LooksAtDeadline(t, retained)
}

func TestPaths(t *testing.T) {
	heaptest.Long(t)
	defer func() { pathsRoot, pathsOther = nil, nil }()
	var at uint64
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
		_, got, _ := pathsTo(t, at, 5, nil)
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
		_, got, _ := pathsTo(t, at, 9, nil)
		assert.Equal(t, []string{
			"pathsRoot.self.named.$mapval",
			"pathsRoot.self.out[1]",
			"pathsRoot.self.out[0].out[0]",
		}, got)
		pathsRoot.self = nil
		_, got, _ = pathsTo(t, at, 9, nil)
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
		_, got, _ := pathsTo(t, at, 9, nil)
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
		paths, _, objects := pathsTo(t, at, 3, nil)
		require.Len(t, paths, 1)
		assert.Len(t, paths[0].Steps, n+1)
		assert.EqualValues(t, 1, objects)
	})

	t.Run("interior, boxed and captured", func(t *testing.T) {
		build(func() *vertex {
			target := newVertex()
			pathsRoot = &vertex{any: struct{ p *uintptr }{&target.ballast[3]}}
			pathsOther = newVertex()
			pathsOther.fn = func() *vertex { return target }
			return target
		})
		_, got, _ := pathsTo(t, at+16, 3, nil)
		assert.Equal(t, []string{"pathsRoot.any", "pathsOther.fn.target"}, got)
	})

	t.Run("ignored references", func(t *testing.T) {
		build(func() *vertex {
			target := newVertex()
			pathsRoot = &vertex{self: newVertex(target)}
			pathsOther = &vertex{named: map[string]*vertex{"k": target}}
			return target
		})
		ignore := func(holder, _ string) bool { return strings.HasPrefix(holder, "map[") }
		_, got, _ := pathsTo(t, at, 4, ignore)
		assert.Equal(t, []string{"pathsRoot.self.out[0]"}, got)
	})
}

// The type of a closure of generic code leaves pointers out. Those that it has are followed once.
func TestPathsByGenericClosure(t *testing.T) {
	heaptest.Long(t)
	var at uint64
	func() {
		target := newVertex()
		at = addressOf(target)
		pathsSeq = maps.Values(map[int]*vertex{1: target})
	}()
	defer func() { pathsSeq = nil }()
	_, got, _ := pathsTo(t, at, 3, nil)
	assert.Equal(t, []string{"pathsSeq.m.$mapval"}, got)
}

// In a block that values share, only references to the value itself count.
func TestPathsToSharedBlocks(t *testing.T) {
	heaptest.Long(t)
	defer func() { pathsRoot, pathsOther = nil, nil }()
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
	_, got, _ := pathsTo(t, at, 1, nil)
	assert.Equal(t, []string{"pathsRoot.any"}, got)
	_, got, _ = pathsTo(t, gone, 1, nil)
	assert.Empty(t, got)
	runtime.KeepAlive(pathsRoot)
}

// Paths in random graphs are compared with the obvious algorithms on the graph as it was built.
func TestPathsOfRandomGraphs(t *testing.T) {
	heaptest.Long(t)
	defer func() { pathsRoot, pathsOther = nil, nil }()
	rng := rand.New(rand.NewPCG(heaptest.Seed(t), 1))
	for range require.Rounds(1, 6) {
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
		addresses := make([]uint64, n)
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

		p := heaptest.Capture(t)
		f, walker := pathfind.New(p.Heap, p.Program(), nil), pathfind.New(p.Heap, p.Program(), nil)
		walker.OnlyWalk()
		for i := range n {
			paths, err := f.Paths(addresses[i], 1)
			require.NoError(t, err)
			require.Len(t, paths, 1)
			if i%10 == 0 {
				same(t, f, walker, addresses[i], 1, paths)
			}
			// An edge takes two steps: a reference to the slice, and a reference by one of its
			// elements.
			require.Len(t, paths[0].Steps, 1+2*distance[i], "vertex %d", i)
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
			objects, _, err := f.Retained(addresses[i])
			require.NoError(t, err)
			require.Equal(t, retained, objects, "vertex %d", i)
		}
		f.Release()
		require.NoError(t, p.Close())
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
