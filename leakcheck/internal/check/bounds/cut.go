package bounds

import (
	"fmt"
	"slices"
	"sort"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// nodes returns the nodes of a report whose objects a selector of types means.
func (c *boundsCheck) nodes(r *refscan.Report, sel *request.Selector) []*refscan.Node {
	f := tree.GrowTrees(r.Roots)
	nodeOf := make(map[*tree.Branch]*refscan.Node)
	pair(f, nodeOf, r.Roots)
	selected := sel.Selects(f.Keep(c.scope))
	if len(c.req.Scope) == 0 {
		selected, _ = tree.KeptOnPurpose(c.env, selected)
	}
	nodes := make([]*refscan.Node, len(selected))
	for i, b := range selected {
		nodes[i] = nodeOf[b]
	}
	return nodes
}

// pair finds the nodes that branches were made of.
func pair(f tree.Forest, nodeOf map[*tree.Branch]*refscan.Node, nodes []*refscan.Node) {
	for _, n := range nodes {
		if tree.IsOwn(n) {
			continue
		}
		nodeOf[f[0]] = n
		pair(tree.Forest(f[0].Children), nodeOf, n.Children)
		f = f[1:]
	}
}

// judgeCut adds to a finding what cutting what was selected would free.
func judgeCut(f *check.Finding, b *request.Bound, selected []*tree.Branch, together *refscan.NodeSet) {
	most, shared, amount := freedBy(selected, together)
	weight := tree.BytesOf
	if b.Cut.Objects != nil && most.Objects > *b.Cut.Objects {
		weight = tree.ObjectsOf
	}
	over := most.Over(b.Cut.Objects, b.Cut.Bytes)
	if shared != (tree.Tally{}) {
		amount += ", not " + shared.Text() + " that something else holds, too"
	}
	if over != "" {
		amount += ": " + over
	}
	f.Amount += "; " + amount
	f.Freed = true
	f.Record.MaxRetainedObjects, f.Record.MaxRetainedBytes = b.Cut.Objects, b.Cut.Bytes
	f.Record.RetainedObjects, f.Record.RetainedBytes = most.Objects, most.Bytes
	if over != "" && !f.Broken {
		f.Broken = true
		f.Culprits = slices.Clone(selected)
		sort.SliceStable(f.Culprits, func(i, j int) bool {
			return tree.CompareTallies(weight, f.Culprits[j].Retained, f.Culprits[i].Retained) < 0
		})
	}
}

// freedBy returns the most that cutting one of the branches would free, or, if together is not nil,
// what cutting all of them at once would, and what of them would stay.
func freedBy(selected []*tree.Branch, together *refscan.NodeSet) (most, shared tree.Tally, amount string) {
	for _, b := range selected {
		most.Objects = max(most.Objects, b.Retained.Objects)
		most.Bytes = max(most.Bytes, b.Retained.Bytes)
	}
	free := "cutting it would free "
	switch {
	case together != nil:
		most = tree.Tally{Objects: together.RetainedObjects, Bytes: together.RetainedBytes}
		shared = tree.Tally{Objects: together.SharedObjects, Bytes: together.SharedBytes}
		free = "cutting all of them would free "
	case len(selected) == 1:
		shared = selected[0].Shared
	case len(selected) > 1:
		free = fmt.Sprintf("cutting one of the %s would free up to ", textfmt.CountNoun(int64(len(selected)), "path"))
	}
	return most, shared, free + most.Text()
}
