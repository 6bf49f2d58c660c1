package page

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan"
)

// maxNodes bounds the nodes of one tree of a page. Beyond it, the smallest nodes are left out and
// counted. This keeps the page fluid, and its size at a few megabytes.
const maxNodes = 200_000

// A node is one line of a tree while it is built.
type node struct {
	name, detail    string // detail: the type of a reference, the place of a frame
	refscan.Figures        // at this node alone; of a profile, only Objects and Bytes
	// what cutting the node would free; a lower bound if several nodes were merged here
	freed, freedObj int64
	merged          bool
	recursion       string
	ended           string
	root            *Root
	children        []*node
	index           map[[2]string]*node

	totalObjects, totalBytes int64
	left                     int64 // nodes left out below
}

// A Root describes a root of references. Node is the index of its node in the tree.
type Root struct {
	Node    int    `json:"node"`
	Kind    string `json:"kind"`
	Package string `json:"package,omitempty"`
	// base name: the page names no folder of the machine that made it
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Goroutine  string `json:"goroutine,omitempty"`
	CreatedBy  string `json:"created_by,omitempty"`
	CreatedAt  string `json:"created_at,omitempty"`
	Goroutines int64  `json:"goroutines,omitempty"`
	Timers     int64  `json:"timers,omitempty"`
	Test       bool   `json:"test,omitempty"`
	Standard   bool   `json:"standard,omitempty"` // of the runtime or the standard library
}

// A Tree is a forest in columns, each node before those below it. Names and details are indices of
// Data.Texts.
type Tree struct {
	Units    []string `json:"units"` // of the columns that count: "objects", "bytes"
	Names    []int    `json:"names"`
	Details  []int    `json:"details"`
	Children []int    `json:"children"` // the number of children of each node
	Objects  []int64  `json:"objects"`
	Bytes    []int64  `json:"bytes"`
	Elems    []int64  `json:"elems,omitempty"`
	// bytes that cutting each node would free; nil if unknown for all nodes
	Freed     []int64 `json:"freed,omitempty"`
	FreedObj  []int64 `json:"freed_objects,omitempty"` // objects
	Merged    []int   `json:"merged,omitempty"`        // nodes whose Freed is a lower bound
	Notes     []note  `json:"notes,omitempty"`
	Roots     []Root  `json:"roots,omitempty"`
	LeftOut   int64   `json:"left_out,omitempty"`   // nodes that are left out, see maxNodes
	LeftBytes int64   `json:"left_bytes,omitempty"` // the bytes of these nodes
}

// A note is a remark on a node.
type note struct {
	Node int    `json:"node"`
	Text string `json:"text"`
}

// child returns the child with a name and a detail, a new one if there is none.
func (n *node) child(name, detail string) *node {
	key := [2]string{name, detail}
	c := n.index[key]
	if c == nil {
		c = &node{name: name, detail: detail}
		if n.index == nil {
			n.index = make(map[[2]string]*node)
		}
		n.index[key] = c
		n.children = append(n.children, c)
	}
	return c
}

// texts are the texts of a page, each once.
type texts struct {
	list []string
	at   map[string]int
}

func (t *texts) number(text string) int {
	n, ok := t.at[text]
	if !ok {
		if t.at == nil {
			t.at = make(map[string]int)
		}
		n = len(t.list)
		t.at[text] = n
		t.list = append(t.list, text)
	}
	return n
}

// ofReport makes the tree of what is retained, elements folded as in messages.
func ofReport(r *refscan.Report, modules *symbol.Modules) *node {
	top := new(node)
	top.addAll(r.Roots, modules)
	return top
}

// ofTypes makes a tree of the types: each with what all its objects retain together, where that was
// measured.
func ofTypes(r *refscan.Report) *node {
	top := new(node)
	for _, n := range r.Types {
		c := top.child(n.Type, "")
		c.Objects, c.Bytes = c.Objects+n.Objects, c.Bytes+n.Bytes
		c.freed, c.freedObj = c.freed+n.RetainedBytes, c.freedObj+n.RetainedObjects
	}
	if len(top.children) > 0 {
		return top
	}
	var each func(nodes []*refscan.Node)
	each = func(nodes []*refscan.Node) {
		for _, n := range nodes {
			if n.Objects|n.Bytes != 0 {
				top.child(cmp.Or(n.Type, "(not known)"), "").Add(&n.Figures)
			}
			each(n.Children)
		}
	}
	each(r.Roots)
	return top
}

func (n *node) addAll(nodes []*refscan.Node, modules *symbol.Modules) {
	for _, from := range nodes {
		name := symbol.FoldPath(from.Name)
		var c *node
		if from.Root == nil {
			c = n.child(name, from.Type)
		} else { // roots that differ only in their goroutines stay separate
			c = &node{name: name, detail: from.Type}
			n.children = append(n.children, c)
		}
		c.merged = c.merged || c.freed != 0
		c.Add(&from.Figures)
		c.freed, c.freedObj = c.freed+from.RetainedBytes, c.freedObj+from.RetainedObjects
		if from.Recursion != "" {
			c.recursion = symbol.FoldPath(from.Recursion)
		}
		if from.Ended > 0 {
			c.ended = fmt.Sprintf("%s of its objects: %s", textfmt.Count(from.Ended), from.EndedState)
		}
		if r := from.Root; r != nil {
			c.root = &Root{
				Kind: string(r.Kind), Package: r.Package, File: baseName(r.File), Line: r.Line, Goroutine: r.Goroutine,
				CreatedBy: r.CreatedBy, CreatedAt: baseName(r.CreatedAt), Goroutines: r.Goroutines, Timers: r.Timers, Test: r.Test,
				Standard: modules.IsStandard(r.Package),
			}
		}
		c.addAll(from.Children, modules)
	}
}

func baseName(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(file, `\`, "/"))
}

// stack returns the node of a stack, the outermost frame first. detail tells apart frames of one
// function.
func (n *node) stack(s *profile.Sample, detail func(line *profile.Line) string) *node {
	for _, location := range slices.Backward(s.Location) {
		for i := len(location.Line) - 1; i >= 0; i-- {
			if line := &location.Line[i]; line.Function != nil {
				n = n.child(line.Function.Name, detail(line))
			}
		}
	}
	return n
}

// ofProfile makes the tree of stacks of a profile, with the values at the indices objects and
// bytes; an index below 0 means that the profile has no such value.
func ofProfile(p *profile.Profile, objects, bytes int) *node {
	top := new(node)
	place := func(line *profile.Line) string {
		file := baseName(line.Function.Filename)
		if file != "" && line.Line > 0 {
			return fmt.Sprintf("%s:%d", file, line.Line)
		}
		return file
	}
	for _, s := range p.Sample {
		at := top.stack(s, place)
		if objects >= 0 {
			at.Objects += s.Value[objects]
		}
		if bytes >= 0 {
			at.Bytes += s.Value[bytes]
		}
	}
	return top
}

// sum computes totals, and orders children by them, so that equal trees give equal pages.
func (n *node) sum() (nodes int) {
	n.totalObjects, n.totalBytes = n.Objects, n.Bytes
	for _, c := range n.children {
		nodes += c.sum()
		n.totalObjects += c.totalObjects
		n.totalBytes += c.totalBytes
	}
	slices.SortStableFunc(n.children, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.totalBytes, a.totalBytes), cmp.Compare(b.totalObjects, a.totalObjects), cmp.Compare(a.name, b.name), cmp.Compare(a.detail, b.detail))
	})
	return nodes + 1
}

// prune removes the nodes with the smallest totals until there are at most as many as allowed. The
// figures of a removed node are added to those of the node above.
func (n *node) prune(most int) (left, bytes int64) {
	var sizes []int64
	var each func(n *node, visit func(*node))
	each = func(n *node, visit func(*node)) {
		for _, c := range n.children {
			visit(c)
			each(c, visit)
		}
	}
	each(n, func(c *node) { sizes = append(sizes, c.totalBytes) })
	if len(sizes) <= most {
		return 0, 0
	}
	slices.SortFunc(sizes, func(a, b int64) int { return cmp.Compare(b, a) })
	limit := sizes[most] // all nodes this small go, however many they are
	var cut func(n *node)
	cut = func(n *node) {
		n.children = slices.DeleteFunc(n.children, func(c *node) bool {
			if c.totalBytes > limit {
				return false
			}
			gone := int64(1)
			each(c, func(*node) { gone++ })
			left, bytes, n.left = left+gone, bytes+c.totalBytes, n.left+gone
			n.Objects, n.Bytes = n.Objects+c.totalObjects, n.Bytes+c.totalBytes
			return true
		})
		for _, c := range n.children {
			cut(c)
		}
	}
	cut(n)
	return left, bytes
}

// columns makes a tree of what lies below n.
func (n *node) columns(t *texts, units ...string) *Tree {
	out := &Tree{Units: units}
	n.sum()
	out.LeftOut, out.LeftBytes = n.prune(maxNodes)
	freed := false
	var each func(n *node)
	each = func(n *node) {
		at := len(out.Names)
		out.Names, out.Details = append(out.Names, t.number(n.name)), append(out.Details, t.number(n.detail))
		out.Children = append(out.Children, len(n.children))
		out.Objects, out.Bytes = append(out.Objects, n.Objects), append(out.Bytes, n.Bytes)
		out.Elems = append(out.Elems, n.Elems)
		out.Freed, out.FreedObj = append(out.Freed, n.freed), append(out.FreedObj, n.freedObj)
		freed = freed || n.freed != 0
		if n.merged {
			out.Merged = append(out.Merged, at)
		}
		if n.recursion != "" {
			out.Notes = append(out.Notes, note{at, "a list or tree folds here, by " + n.recursion})
		}
		if n.ended != "" {
			out.Notes = append(out.Notes, note{at, n.ended})
		}
		if n.left > 0 {
			out.Notes = append(out.Notes, note{at, textfmt.CountNoun(n.left, "smaller line") + " below left out; their figures are in this one's"})
		}
		if n.root != nil {
			n.root.Node = at
			out.Roots = append(out.Roots, *n.root)
		}
		for _, c := range n.children {
			each(c)
		}
	}
	for _, c := range n.children {
		each(c)
	}
	if !freed {
		out.Freed, out.FreedObj, out.Merged = nil, nil, nil
	}
	return out
}
