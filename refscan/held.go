package refscan

import (
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/holding"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Match says whether a Query selects a node.
type Match uint8

// The results of a Query.
const (
	NoMatch Match = iota
	Before        // the node may lead to one that the query selects
	Selected
)

// A Query selects nodes by their paths in a folded report, and by their roots.
type Query func(path string, of *RootInfo) Match

// Held is what the nodes that a Query selects hold, whoever else holds it too.
type Held struct {
	Roots []*Node // trees with the selected nodes, and those above them
	// What the nodes lead to and do not hold, since another variable is nearer to it: Nearer is the
	// name of one that is nearer to most of it.
	BeyondObjects, BeyondBytes int64
	Nearer                     string
}

// Held finds what the nodes hold that each query selects. In a report each object is charged to one
// root; here the queries do not take from each other, and other roots take from them only what
// begins as a thing of their own: something that a pointer, interface or func in a field leads to,
// and that another variable is nearer to. The elements of a container, and what a variable itself
// points to, are held whoever else refers to them.
//
// It takes about as long as a scan for all queries together, and again for each query of a path.
func (s *Snapshot) Held(queries ...Query) (_ []*Held, err error) {
	defer public(&err)
	defer snapshot.Guard(&err)()
	graph, err := s.in().Heap()
	if err != nil {
		return nil, err
	}
	var charged attribute.Charged
	var build treeBuilder
	if !s.in().Stopped() {
		charged, build.finish = readAllocations(s)
	}
	var all []*Held
	err = s.held(graph, charged, queries, func(found *holding.Held) {
		held := &Held{BeyondObjects: found.Beyond.Objects, BeyondBytes: found.Beyond.Bytes}
		if found.Nearer != nil {
			held.Nearer = symbol.Unescape(found.Nearer.Name)
		}
		for _, n := range found.Roots {
			held.Roots = append(held.Roots, build.node(n))
		}
		all = append(all, held)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (q Query) selects(path string, of *root.Root) attribute.Selection {
	switch q(path, rootInfo(of)) {
	case Selected:
		return attribute.In
	case Before:
		return attribute.Through
	}
	return attribute.Out
}

// held calls take with the answer to each query.
func (s *Snapshot) held(graph *typedheap.Heap, charged attribute.Charged, queries []Query, take func(*holding.Held)) error {
	if err := s.in().Ask(snapshot.Queries{Held: true}); err != nil {
		return err
	}
	h := holding.New(graph, s.in().Program())
	defer h.Release()
	for _, q := range queries {
		held, err := h.Find(q.selects, charged)
		if err != nil {
			return err
		}
		take(held)
	}
	return nil
}
