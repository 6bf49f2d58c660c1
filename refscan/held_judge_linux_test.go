package refscan_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
	"github.com/leakgate/leakgate/refscan"
)

// Types and roots of random graphs for TestHeldOfRandomGraphs.
type (
	heldNode struct {
		other *heldOther
		next  *heldNode
		list  []*heldNode
		m     map[int]*heldOther
		any   any
	}
	heldOther struct {
		back *heldNode
		peer *heldOther
		kids []*heldOther
	}
)

var (
	heldMap     map[int]*heldNode
	heldSlice   []*heldOther
	heldPointer *heldNode
	heldStruct  struct {
		n *heldNode
		o *heldOther
	}
)

// A heldEdge is a reference as the judge knows it: from a vertex, or from a root (from < 0).
type heldEdge struct {
	from, to                  int
	crosses, element, recurse bool
}

// A heldJudge decides by the rule of package holding what a root holds, from what the builder of a
// graph knows, and by the most naive means.
type heldJudge struct {
	vertices int
	edges    []heldEdge
	elements map[int]bool
}

// Roots of the judge.
const (
	ofMap = -1 - iota
	ofSlice
	ofPointer
	ofStruct
	ofTest
)

func (j *heldJudge) vertex() int {
	j.vertices++
	return j.vertices - 1
}

func (j *heldJudge) joins(from, to int, element bool) {
	j.edges = append(j.edges, heldEdge{from: from, to: to, element: element})
}

func (j *heldJudge) crosses(from, to int) {
	j.edges = append(j.edges, heldEdge{from: from, to: to, crosses: true})
}

func (j *heldJudge) recurs(from, to int) {
	j.edges = append(j.edges, heldEdge{from: from, to: to, element: true, recurse: true})
}

// buildHeld fills the roots with a random graph, and returns what it knows of it, with a node that
// the test has. It keeps no other reference.
//
//go:noinline
func buildHeld(r *rand.Rand) (*heldJudge, *heldNode) {
	j := &heldJudge{elements: make(map[int]bool)}
	nodes, others := make([]*heldNode, 4+r.IntN(12)), make([]*heldOther, 4+r.IntN(8))
	for i := range nodes {
		nodes[i] = &heldNode{}
		j.vertex()
	}
	for i := range others {
		others[i] = &heldOther{}
		j.vertex()
	}
	node := func() (*heldNode, int) { i := r.IntN(len(nodes)); return nodes[i], i }
	other := func() (*heldOther, int) { i := r.IntN(len(others)); return others[i], len(nodes) + i }
	one := func(in int) bool { return r.IntN(in) == 0 }
	for i, n := range nodes {
		if one(2) {
			o, to := other()
			n.other = o
			j.crosses(i, to)
		}
		if one(4) {
			next, to := node()
			n.next = next
			j.recurs(i, to)
		}
		if one(5) {
			array := j.vertex()
			j.joins(i, array, false)
			for range 1 + r.IntN(3) {
				e, to := node()
				n.list = append(n.list, e)
				j.joins(array, to, true)
			}
			n.list = slices.Clip(n.list)
		}
		if one(5) {
			table := j.vertex()
			j.joins(i, table, false)
			n.m = make(map[int]*heldOther)
			for k := range 1 + r.IntN(3) {
				e, to := other()
				n.m[k] = e
				j.joins(table, to, true)
			}
		}
		switch r.IntN(6) {
		case 0:
			o, to := other()
			n.any = o
			j.crosses(i, to)
		case 1:
			e, to := node()
			n.any = e
			j.recurs(i, to)
		}
	}
	for i, o := range others {
		i += len(nodes)
		if one(3) {
			n, to := node()
			o.back = n
			j.crosses(i, to)
		}
		if one(6) {
			p, to := other()
			o.peer = p
			j.recurs(i, to)
		}
		if one(5) {
			array := j.vertex()
			j.joins(i, array, false)
			for range 1 + r.IntN(3) {
				e, to := other()
				o.kids = append(o.kids, e)
				j.joins(array, to, true)
			}
			o.kids = slices.Clip(o.kids)
		}
	}
	heldMap, heldSlice = make(map[int]*heldNode), nil
	table, array := j.vertex(), j.vertex()
	j.joins(ofMap, table, false)
	j.joins(ofSlice, array, false)
	for k := range 1 + r.IntN(3) {
		n, to := node()
		heldMap[k] = n
		j.joins(table, to, true)
		o, to := other()
		heldSlice = append(heldSlice, o)
		j.joins(array, to, true)
	}
	heldSlice = slices.Clip(heldSlice)
	n, to := node()
	heldPointer = n
	j.joins(ofPointer, to, false)
	n, to = node()
	o, toOther := other()
	heldStruct.n, heldStruct.o = n, o
	j.crosses(ofStruct, to)
	j.crosses(ofStruct, toOther)
	n, to = node()
	j.joins(ofTest, to, false)
	j.forgetGarbage()
	return j, n
}

// forgetGarbage drops the references of what no root leads to, and notes the elements.
func (j *heldJudge) forgetGarbage() {
	alive := make(map[int]bool)
	for more := true; more; {
		more = false
		for _, e := range j.edges {
			if (e.from < 0 || alive[e.from]) && !alive[e.to] {
				alive[e.to], more = true, true
			}
		}
	}
	j.edges = slices.DeleteFunc(j.edges, func(e heldEdge) bool { return e.from >= 0 && !alive[e.from] })
	for _, e := range j.edges {
		if e.element && !e.crosses {
			j.elements[e.to] = true
		}
		if e.recurse {
			j.elements[e.from] = true
		}
	}
}

// A heldKey is a distance: the length of the way, and whether it leads through an element.
type heldKey struct {
	length  int
	through bool
}

func (k heldKey) before(o heldKey) bool {
	return k.length < o.length || k.length == o.length && !k.through && o.through
}

func (j *heldJudge) after(k heldKey, e heldEdge) heldKey {
	k.through = k.through || e.element
	switch {
	case !e.crosses:
	case k.through:
		k.length += 8
	case j.elements[e.from]:
		k.length += 4
	default:
		k.length++
	}
	return k
}

// settle finds distances, the nearest vertex first.
func (j *heldJudge) settle(start map[int]heldKey, after func(heldKey, heldEdge) (heldKey, bool)) map[int]heldKey {
	settled := make(map[int]heldKey)
	for len(start) > 0 {
		best := -1
		for v, k := range start {
			if best < 0 || k.before(start[best]) || k == start[best] && v < best {
				best = v
			}
		}
		k := start[best]
		delete(start, best)
		settled[best] = k
		for _, e := range j.edges {
			if e.from != best {
				continue
			}
			if _, done := settled[e.to]; done {
				continue
			}
			if next, ok := after(k, e); ok {
				if old, known := start[e.to]; !known || next.before(old) {
					start[e.to] = next
				}
			}
		}
	}
	return settled
}

// held returns how many objects a root holds, or the elements of heldMap if path is set.
func (j *heldJudge) held(of int, path bool) int {
	begin := make(map[int]bool) // of the path
	for _, e := range j.edges {
		if path && e.element && slices.ContainsFunc(j.edges, func(r heldEdge) bool { return r.from == of && r.to == e.from }) {
			begin[e.to] = true
		}
	}
	start := make(map[int]heldKey)
	for v := range begin {
		start[v] = heldKey{}
	}
	for _, e := range j.edges {
		if e.from < 0 && e.from != ofTest {
			if k := j.after(heldKey{}, e); !begin[e.to] {
				if old, known := start[e.to]; !known || k.before(old) {
					start[e.to] = k
				}
			}
		}
	}
	near := j.settle(start, func(k heldKey, e heldEdge) (heldKey, bool) { return j.after(k, e), true })
	parts, count := map[int]bool{}, -1
	for {
		first := make(map[int]heldKey)
		for _, e := range j.edges {
			if e.from == ofTest && !parts[e.to] {
				first[e.to] = heldKey{}
			}
		}
		test := j.settle(first, func(k heldKey, e heldEdge) (heldKey, bool) {
			if e.crosses && j.elements[e.from] {
				k.length += 4
			} else if e.crosses {
				k.length++
			}
			return k, !parts[e.to]
		})
		held := make(map[int]bool)
		parts = make(map[int]bool)
		for v := range begin {
			held[v], parts[v] = true, true
		}
		for more := true; more; {
			more = false
			for _, e := range j.edges {
				if !(e.from == of && !path) && !(e.from >= 0 && held[e.from]) {
					continue
				}
				k := j.after(near[e.from], e) // of a root: the zero key
				t, tested := test[e.to]
				if e.crosses && (near[e.to].before(k) || tested && t.length < k.length) {
					continue
				}
				more = more || !held[e.to] || !e.crosses && !parts[e.to]
				held[e.to] = true
				parts[e.to] = parts[e.to] || !e.crosses
			}
		}
		if len(held) == count {
			return count
		}
		count = len(held)
	}
}

// What roots and paths hold is what a naive judge says, on random graphs in which the roots, and a
// variable of this test, hold the same objects.
func TestHeldOfRandomGraphs(t *testing.T) {
	defer func() {
		heldMap, heldSlice, heldPointer = nil, nil, nil
		heldStruct.n, heldStruct.o = nil, nil
	}()
	const here = "github.com/leakgate/leakgate/refscan_test."
	whole := func(name string) refscan.Query {
		return func(path string, _ *refscan.RootInfo) refscan.Match {
			if path == here+name {
				return refscan.Selected
			}
			return refscan.NoMatch
		}
	}
	elements := func(path string, _ *refscan.RootInfo) refscan.Match {
		switch {
		case strings.HasPrefix(path, here+"heldMap[*]"):
			return refscan.Selected
		case path == here+"heldMap":
			return refscan.Before
		}
		return refscan.NoMatch
	}
	for seed := range uint64(require.Rounds(5, 200)) {
		judge, mine := buildHeld(rand.New(rand.NewPCG(seed, 1)))
		s, err := refscan.Capture()
		require.NoError(t, err)
		all, err := s.Held(whole("heldMap"), whole("heldSlice"), whole("heldPointer"), whole("heldStruct"), elements)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		for i, of := range []int{ofMap, ofSlice, ofPointer, ofStruct} {
			require.EqualValues(t, judge.held(of, false), objectsOf(all[i].Roots), "seed %d, root %d", seed, i)
		}
		var below []*refscan.Node
		for _, n := range all[4].Roots {
			below = append(below, n.Children...)
		}
		require.EqualValues(t, judge.held(ofMap, true), objectsOf(below), "seed %d, elements of heldMap", seed)
		runtime.KeepAlive(mine)
	}
}

func objectsOf(nodes []*refscan.Node) (objects int64) {
	for _, n := range nodes {
		objects += n.Objects + objectsOf(n.Children)
	}
	return objects
}
