package refscan

import (
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/holding"
	"github.com/leakgate/leakgate/internal/engine/graph/retain"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Elsewhere sums objects that something other than their own path holds, too.
type Elsewhere struct {
	Objects, Bytes int64
	// Holder is a path in a folded report: it leads from a root to the node that would be charged
	// with most of these bytes. Each node has one child. The last node has none, and carries the
	// Objects and Bytes of its part.
	Holder *Node
	// Examples shows up to three of the objects by what is in them: `{User: "u17", ID: 3}, {...}`.
	Examples string
}

// How many examples there are, and of how many objects they are chosen.
const (
	maxExamples = 3
	maxLookedAt = 1000
)

// Elsewhere finds what else holds the objects that a scan charges to the nodes for which is returns
// true. is gets the path and the type of a node in a folded report. Elsewhere counts what would
// still hold the objects if the objects of the node above (for roots, the variable) released them.
// It takes as long as two scans. It returns nil if nothing else holds the objects and there are no
// examples of them; Holder is nil if nothing else holds them.
//
// of is the query whose nodes, and the objects that Held charges them with, is is about; nil: they
// are those of a scan.
func (s *Snapshot) Elsewhere(of Query, is func(path, typ string) bool) (_ *Elsewhere, err error) {
	defer public(&err)
	defer snapshot.Guard(&err)()
	graph, err := s.in().Heap()
	if err != nil {
		return nil, err
	}
	paths := make(attribute.Paths)
	var part *attribute.Part
	if of != nil {
		if err := s.held(graph, nil, []Query{of}, func(held *holding.Held) { part = held.Part }); err != nil {
			return nil, err
		}
	}
	var others Elsewhere
	var most *attribute.Node
	type place struct{ path, typ string }
	parts := make(map[place]*Node)
	var largest *Node
	var path string // of the objects
	var examples []string
	lookedAt := 0
	isMeant := func(n *attribute.Node) bool {
		if !is(paths.Of(n), n.Type) {
			return false
		}
		path = paths.Of(n)
		return true
	}
	show := func(obj uint32) {
		if lookedAt++; lookedAt > maxLookedAt {
			return
		}
		if text := exampleOf(graph, s.in().Index(), obj, path); text != "" {
			examples = append(examples, text)
		}
	}
	retain.Elsewhere(graph, s.in().Program(), part, isMeant, show, func(n *attribute.Node, bytes int64) {
		others.Objects++
		others.Bytes += bytes
		at := place{paths.Of(n), n.Type}
		part := parts[at]
		if part == nil {
			part = &Node{Name: symbol.FoldPath(n.Name), Type: n.Type}
			parts[at] = part
		}
		part.Objects++
		part.Bytes += bytes
		if largest == nil || part.Bytes > largest.Bytes {
			largest, most = part, n
		}
	})
	// They are the same in every run, if there are not too many objects.
	sort.Slice(examples, func(i, j int) bool {
		a, b := examples[i], examples[j]
		return len(a) < len(b) || len(a) == len(b) && a < b
	})
	examples = slices.Compact(examples)
	others.Examples = strings.Join(examples[:min(len(examples), maxExamples)], ", ")
	switch {
	case most == nil && len(examples) == 0:
		return nil, nil
	case most == nil:
		return &others, nil
	}
	others.Holder = largest
	for n := most; ; n = n.Parent() {
		if n.Root != nil {
			others.Holder.Root = rootInfo(n.Root)
		}
		if n.Parent() == nil {
			return &others, nil
		}
		others.Holder = &Node{Name: symbol.FoldPath(n.Parent().Name), Type: n.Parent().Type, Children: []*Node{others.Holder}}
	}
}
