package refscan

import (
	"sort"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/graph/retain"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Fold returns a copy of the report in which elements are not told apart: "[0]" to "[10+]" and
// "$mapval" become "[*]", "$mapkey" becomes "[$key]", and nodes with equal name and type are
// merged. Goldens and messages use this form. What merged nodes retain is not the sum over them; it
// comes from Report.Together. If the nodes of the report are not those that the scan made, these
// figures are lost and Retained is false.
func (r *Report) Fold() *Report {
	f := *r
	f.Roots = foldNodes(r.Roots, "", func(folded *Node, members []*Node) {
		if r.Retained && !r.setRetained(folded, members) {
			f.Retained = false
		}
	})
	f.Together = nil
	return &f
}

// setRetained sets what a folded node retains. It reports whether the figures belong to exactly its
// members.
func (r *Report) setRetained(folded *Node, members []*Node) bool {
	first := members[0]
	if first.Together <= 0 || first.Together > len(r.Together) {
		folded.hold(retain.Retained{
			Objects: first.RetainedObjects, Bytes: first.RetainedBytes, SharedObjects: first.SharedObjects, SharedBytes: first.SharedBytes,
			RootObjects: first.RootObjects, RootBytes: first.RootBytes,
		})
		return len(members) == 1
	}
	t := r.Together[first.Together-1]
	folded.hold(retain.Retained{
		Objects: t.RetainedObjects, Bytes: t.RetainedBytes, SharedObjects: t.SharedObjects, SharedBytes: t.SharedBytes,
		RootObjects: t.RootObjects, RootBytes: t.RootBytes,
	})
	same := len(members) == t.Nodes
	for _, n := range members {
		same = same && n.Together == first.Together
	}
	return same
}

func (n *Node) hold(h retain.Retained) {
	n.RetainedObjects, n.RetainedBytes = h.Objects, h.Bytes
	n.SharedObjects, n.SharedBytes = h.SharedObjects, h.SharedBytes
	n.RootObjects, n.RootBytes = h.RootObjects, h.RootBytes
}

// foldNodes folds nodes and all below them, whose parents have a type. It calls merged with each
// folded node and its members, the nodes that were merged into it.
func foldNodes(nodes []*Node, parent string, merged func(folded *Node, members []*Node)) []*Node {
	var out []*Node
	members := make(map[*Node][]*Node)
	at := make(map[NodeKey]*Node)
	for _, n := range nodes {
		k := n.Key()
		m := at[k]
		if m == nil {
			m = &Node{Name: k.Name, Type: k.Type}
			if n.Root != nil {
				m.Root = &k.Root
			}
			at[k] = m
			out = append(out, m)
		}
		m.Figures.Add(&n.Figures)
		if n.Ended > 0 {
			m.EndedState = n.EndedState
		}
		m.Allocations = mergeAllocations(m.Allocations, n.Allocations)
		if m.Recursion == "" {
			m.Recursion = symbol.FoldPath(n.Recursion)
		}
		if n.Root != nil {
			m.Root.add(n.Root)
		}
		members[m] = append(members[m], n)
	}
	for _, m := range out {
		merged(m, members[m])
		m.Element, m.ElementObjects = largestElement(members[m], parent)
		var children []*Node
		for _, n := range members[m] {
			children = append(children, n.Children...)
		}
		m.Children = foldNodes(children, m.Type, merged)
	}
	return out
}

// largestElement returns which element of a small array has ten times the objects that each of the
// others has on average, and its objects, of the nodes that folding merges; see Node.Element. It
// leaves out roots, whose names may have types in them, and slices: what their elements share is
// charged to the first of them.
func largestElement(nodes []*Node, parent string) (element int, objects int64) {
	parent = strings.TrimPrefix(parent, "*")
	inArray := strings.HasPrefix(parent, "[") && !strings.HasPrefix(parent, "[]")
	var of [10]int64
	all, others := int64(0), int64(-1)
	for _, n := range nodes {
		before, index, _ := strings.Cut(n.Name, "[")
		if parent == "" || before == "" && !inArray || len(index) < 2 || index[1] != ']' || index[0]-'0' > 9 {
			return n.Element, n.ElementObjects // there is none, or it is folded already
		}
		i := int(index[0] - '0')
		if of[i] == 0 {
			others++
		}
		held, _ := n.Total()
		of[i] += held
		all += held
		if of[i] > objects {
			element, objects = i, of[i]
		}
	}
	if objects < leastUneven || objects*others < leastUneven*(all-objects) {
		return 0, 0
	}
	return element, objects
}

// leastUneven is how many times as many objects as the others on average an element has to hold to
// be named, and how many it has to hold at least.
const leastUneven = 10

// A NodeKey is what Report.Fold tells nodes with the same parent apart by. It finds a node again in
// another report of the same program.
type NodeKey struct {
	Name, Type string   // the name with elements folded
	Root       RootInfo // of roots, without the figures that folding combines
}

// Key returns the node's key.
func (n *Node) Key() NodeKey {
	k := NodeKey{Name: symbol.FoldPath(n.Name), Type: n.Type}
	if n.Root != nil {
		k.Root = *n.Root
		r := &k.Root
		r.Goroutines, r.Timers, r.DueFirst, r.DueLast, r.Period = 0, 0, 0, 0, 0
	}
	return k
}

// add adds the figures of another root of the same kind.
func (r *RootInfo) add(other *RootInfo) {
	r.Goroutines += other.Goroutines
	switch due := other.DueFirst != 0 || other.DueLast != 0; {
	case due && (r.DueFirst != 0 || r.DueLast != 0):
		r.DueFirst, r.DueLast = min(r.DueFirst, other.DueFirst), max(r.DueLast, other.DueLast)
	case due:
		r.DueFirst, r.DueLast = other.DueFirst, other.DueLast
	}
	r.Timers += other.Timers
	if r.Period == 0 || other.Period != 0 && other.Period < r.Period {
		r.Period = other.Period
	}
}

// mergeAllocations sums allocations that have equal stacks, and sorts them by bytes, the largest
// first.
func mergeAllocations(a, b []Allocation) []Allocation {
	if len(b) == 0 {
		return a
	}
	at := make(map[string]int)
	var out []Allocation
	for _, list := range [][]Allocation{a, b} {
		for _, x := range list {
			key := stackKey(x.Stack)
			i, known := at[key]
			if !known {
				i = len(out)
				at[key] = i
				out = append(out, Allocation{Stack: x.Stack})
			}
			out[i].Objects += x.Objects
			out[i].Bytes += x.Bytes
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Bytes != out[j].Bytes {
			return out[i].Bytes > out[j].Bytes
		}
		return stackKey(out[i].Stack) < stackKey(out[j].Stack)
	})
	return out
}

func stackKey(stack []SourceFrame) string {
	var b []byte
	for _, f := range stack {
		b = append(append(b, f.Func...), '\t')
		b = append(append(b, f.File...), ':')
		b = append(strconv.AppendInt(b, int64(f.Line), 10), '\n')
	}
	return string(b)
}
