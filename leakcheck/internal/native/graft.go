package native

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// Names of the roots of native blocks, and the package of roots that belong to the program's C
// code. Roots for the C library's own blocks, for threads and for mappings have no package: how
// many blocks they have depends on the machine.
const (
	LostRoot    = "lost"
	threadsRoot = "threads"
	mappedRoot  = "mapped memory"
	cgoPackage  = "C"
)

// In returns the report with native blocks as nodes of their own, each below the node whose objects
// lead to the blocks, or below a root that is no Go variable. If their holders are not known, a
// warning says why. It returns the report itself if a is nil, and never changes it.
func (a *Answer) In(report *refscan.Report) *refscan.Report {
	if a == nil {
		return report
	}
	r := *report
	if a.Err != nil {
		r.Warnings = append(slices.Clip(r.Warnings), a.Err.Error())
	}
	if found := a.Found; found != nil {
		g := grafter{report: &r, copied: make(map[*refscan.Node]bool)}
		r.Roots = slices.Clone(r.Roots)
		for i := range found.Everything {
			g.add(&found.Everything[i])
		}
		g.native(LostRoot, cgoPackage, found.AllLost)
		r.Roots = append(r.Roots, g.roots...)
	}
	return &r
}

// A grafter adds nodes to a report. It copies those that it changes.
type grafter struct {
	report *refscan.Report
	copied map[*refscan.Node]bool
	roots  []*refscan.Node // of native blocks that no Go variable leads to, by name
}

// add adds the blocks that a place leads to.
func (g *grafter) add(b *nativeholders.Blocks) {
	name, pkg := b.Name, ""
	switch {
	case b.Node != nil:
		if at := g.nodeOf(b.Node); at != nil {
			g.leaf(&at.Children, b.Label, b.Sum)
			return
		}
		pkg = b.Node.Top().Root.Package // the report does not go so deep
	case b.Kind == nativeholders.Go:
		g.variable(b)
		return
	case b.Kind == nativeholders.Variable:
		name, pkg = variable(&b.Place)
	case b.Kind == nativeholders.Thread:
		name = threadsRoot
	case b.Kind == nativeholders.Mapping:
		name = mappedRoot
	}
	g.native(name, pkg, b.Sum)
}

// variable adds the blocks that a package variable refers to directly.
func (g *grafter) variable(b *nativeholders.Blocks) {
	if b.Blocks == 0 {
		return
	}
	roots := &g.report.Roots
	root := g.find(roots, b.Variable, anyType, nil)
	if root == nil {
		info := &refscan.RootInfo{Kind: refscan.RootGlobal, Package: symbol.Package(b.Variable)}
		info.File, info.Line = g.report.Declaration(b.Variable)
		if b.Label == "" {
			g.leaf(roots, b.Variable, b.Sum).Root = info
			return
		}
		root = &refscan.Node{Name: b.Variable, Root: info}
		*roots = append(*roots, root)
		g.copied[root] = true
	}
	g.leaf(&root.Children, b.Label, b.Sum)
}

// nodeOf returns the node of the report for a node of the attribution, nil if the report has none.
func (g *grafter) nodeOf(n *attribute.Node) *refscan.Node {
	if n.Parent() == nil {
		return g.find(&g.report.Roots, n.Name, n.Type, n.Root)
	}
	at := g.nodeOf(n.Parent())
	if at == nil {
		return nil
	}
	return g.find(&at.Children, n.Name, n.Type, nil)
}

const (
	anyType = "*"
	whole   = "*" // the name of native blocks below a node whose objects, as a whole, are the blocks' addresses
)

// find returns the node of a list with a name, a type and, unless that is nil, a root. It puts a
// copy into the list first, so that the caller may change the node.
func (g *grafter) find(list *[]*refscan.Node, name, typ string, root *root.Root) *refscan.Node {
	for i, n := range *list {
		if n.Name != name || n.Type != typ && typ != anyType || root != nil && (n.Root.Goroutine != root.Goroutine || n.Root.CreatedAt != root.CreatedAt) {
			continue
		}
		if !g.copied[n] {
			c := *n
			n = &c
			n.Children = slices.Clone(n.Children)
			g.copied[n], (*list)[i] = true, n
		}
		return n
	}
	return nil
}

// leaf adds blocks to the node of a list with a name, "*" if the name is empty, and returns the
// node. It returns nil if there are no blocks.
func (g *grafter) leaf(list *[]*refscan.Node, name string, s Sum) *refscan.Node {
	if s.Blocks == 0 {
		return nil
	}
	if name == "" {
		name = whole
	}
	n := g.find(list, name, symbol.NativeBlock, nil)
	if n == nil {
		n = &refscan.Node{Name: name, Type: symbol.NativeBlock}
		*list = append(*list, n)
		g.copied[n] = true
	}
	n.Objects += s.Blocks
	n.Bytes += s.Bytes
	return n
}

// native adds blocks that no Go variable leads to.
func (g *grafter) native(name, pkg string, s Sum) {
	n := g.leaf(&g.roots, name, s)
	if n == nil || n.Root != nil {
		return
	}
	n.Root = &refscan.RootInfo{Kind: refscan.RootNative, Package: pkg}
	for i := len(g.roots) - 1; i > 0 && name < g.roots[i-1].Name; i-- {
		g.roots[i], g.roots[i-1] = g.roots[i-1], g.roots[i]
	}
}

// variable names a C variable as cgo does, "C.cache_head", or by its library, without the library's
// version: "libfoo.so:cache_head".
func variable(p *nativeholders.Place) (name, pkg string) {
	if program, err := os.Executable(); err == nil && strings.HasSuffix(program, "/"+p.File) {
		return cgoPackage + "." + cmp.Or(p.Variable, "*"), cgoPackage
	}
	library, _, _ := strings.Cut(p.File, ".so")
	name, pkg = library+".so", cgoPackage
	if library == "libc" {
		pkg = ""
	}
	if p.Variable != "" {
		name += ":" + p.Variable
	}
	return name, pkg
}
