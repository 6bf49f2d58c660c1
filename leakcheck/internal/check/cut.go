package check

import (
	"fmt"
	"slices"
	"sort"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// nodes returns the nodes of a report whose objects a selector of types selects.
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

// pair maps each branch to the node from which it was made.
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

// keys returns the node keys of the branches that bound i, which counts native memory, selects in a
// report with native blocks. The key is "" for a path that is a native root, or that leads to no
// native blocks.
func (c *boundsCheck) keys(r *refscan.Report, i int) []string {
	b := c.req.Bounds[i]
	holders, _ := c.withoutRetainers(b, b.Selector.Selects(tree.GrowForest(r).Keep(c.scope)))
	keys := tree.NodeKeys(holders)
	for k, h := range holders {
		if !b.Selector.ByType() && (h.Root.Kind == refscan.RootNative || !leadsToNative(h)) {
			keys[k] = ""
		}
	}
	c.cuts[i].holders = holders
	return keys
}

func leadsToNative(b *tree.Branch) bool {
	for _, c := range b.Children {
		if leadsToNative(c) {
			return true
		}
	}
	return b.Typ == symbol.NativeBlock
}

// judge adds to a finding what cutting the selected branches would free, and breaks the bound if
// that is more than it allows.
func (c *cut) judge(f *Finding, b *request.Bound, selected []*tree.Branch) {
	together := c.Set
	if len(c.Native) > 0 {
		selected = slices.Clone(c.holders)
	}
	var blocks native.Sum // of the cut with the most bytes
	for i, n := range c.Native {
		if n.Bytes > blocks.Bytes {
			blocks = n
		}
		if c.Set != nil {
			all := *c.Set
			all.RetainedObjects += n.Blocks
			all.RetainedBytes += n.Bytes
			together = &all
		} else {
			h := *c.holders[i]
			h.Retained = h.Retained.Plus(tree.Tally{Objects: n.Blocks, Bytes: n.Bytes})
			selected[i] = &h
		}
	}
	most, shared, amount := freedBy(selected, together)
	if blocks.Blocks > 0 {
		amount += fmt.Sprintf(", of it %s, %s", textfmt.CountNoun(blocks.Blocks, "native block"), textfmt.ByteCount(blocks.Bytes))
	}
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
	f.Freed, f.Native = true, b.Cut.Native
	f.Record.MaxRetainedObjects, f.Record.MaxRetainedBytes = b.Cut.Objects, b.Cut.Bytes
	f.Record.RetainedObjects, f.Record.RetainedBytes = most.Objects, most.Bytes
	if over != "" && !f.Broken {
		f.Broken = true
		f.Culprits, f.Held = slices.Clone(selected), nil
		sort.SliceStable(f.Culprits, func(i, j int) bool {
			return tree.CompareTallies(weight, f.Culprits[j].Retained, f.Culprits[i].Retained) < 0
		})
	}
}

// freedBy returns the most that cutting one of the branches would free, and what of a single branch
// would stay. If together is not nil, it returns what cutting all of them at once would free, and
// what of them would stay.
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
