package observe

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// Roots of native blocks, and what stands for the package of those that the program's C code has. What
// the C library has for itself is of no package, as are threads and mappings: how much that is depends
// on the machine.
const (
	LostRoot    = "lost"
	threadsRoot = "threads"
	mappedRoot  = "mapped memory"
	cgoPackage  = "C"
)

// WithNative returns the report with native blocks as nodes of their own, each below the node whose
// objects lead to the blocks, or below a root that is no Go variable. Where they are not known, a
// warning says why. Without Native it is the report itself; the report does not change.
func (o *Observation) WithNative() *refscan.Report {
	if o.Native == nil {
		return o.Report
	}
	r := *o.Report
	if o.Native.Err != nil {
		r.Warnings = append(slices.Clip(r.Warnings), o.Native.Err.Error())
	}
	if o.Native.Found == nil {
		return &r
	}
	g := grafter{report: &r, copied: make(map[*refscan.Node]bool)}
	r.Roots = slices.Clone(r.Roots)
	for i := range o.Native.Found.Everything {
		if b := &o.Native.Found.Everything[i]; b.Blocks > 0 {
			g.add(&b.Place, b.Sum)
		}
	}
	if lost := o.Native.Found.AllLost; lost.Blocks > 0 {
		g.root(LostRoot, refscan.RootInfo{Kind: refscan.RootNative, Package: cgoPackage}, lost)
	}
	r.Roots = append(r.Roots, g.sorted()...)
	return &r
}

// A grafter adds nodes to a report. It copies those that it changes.
type grafter struct {
	report *refscan.Report
	copied map[*refscan.Node]bool
	roots  []*refscan.Node // of native blocks, in no order
}

// add adds the blocks that a place leads to.
func (g *grafter) add(p *nativeholders.Place, s nativeholders.Sum) {
	switch {
	case p.Node != nil:
		if at := g.nodeOf(p.Node); at != nil {
			g.leaf(at, p.Label, s)
			return
		}
		// the report does not go so deep
		g.root(p.Name, refscan.RootInfo{Kind: refscan.RootNative, Package: p.Node.Top().Root.Package}, s)
	case p.Variable != "":
		root := g.find(&g.report.Roots, func(n *refscan.Node) bool { return n.Name == p.Variable })
		if root == nil {
			info := refscan.RootInfo{Kind: refscan.RootGlobal, Package: symbol.Package(p.Variable)}
			info.File, info.Line = g.report.Declaration(p.Variable)
			if p.Label == "" {
				g.root(p.Variable, info, s)
				return
			}
			root = &refscan.Node{Name: p.Variable, Root: &info}
			g.report.Roots = append(g.report.Roots, root)
			g.copied[root] = true
		}
		g.leaf(root, p.Label, s)
	case p.Kind == nativeholders.Variable:
		name, pkg := variable(p)
		g.root(name, refscan.RootInfo{Kind: refscan.RootNative, Package: pkg}, s)
	case p.Kind == nativeholders.Frame:
		g.root(p.Name, refscan.RootInfo{Kind: refscan.RootNative, Func: p.Name}, s)
	case p.Kind == nativeholders.Thread:
		g.root(threadsRoot, refscan.RootInfo{Kind: refscan.RootNative}, s)
	default:
		g.root(mappedRoot, refscan.RootInfo{Kind: refscan.RootNative}, s)
	}
}

// nodeOf returns the node of the report that one of the attribution became, nil if it is not there.
func (g *grafter) nodeOf(n *attribute.Node) *refscan.Node {
	if n.Parent() == nil {
		return g.find(&g.report.Roots, func(m *refscan.Node) bool {
			r, of := m.Root, n.Root
			return m.Name == n.Name && m.Type == n.Type && r.Package == of.Package && r.Func == of.Func && r.Goroutine == of.Goroutine &&
				r.CreatedBy == of.CreatedBy && r.CreatedAt == of.CreatedAt && r.File == of.File && r.Line == of.Line
		})
	}
	at := g.nodeOf(n.Parent())
	if at == nil {
		return nil
	}
	return g.find(&at.Children, func(m *refscan.Node) bool { return m.Name == n.Name && m.Type == n.Type })
}

// find returns a node of a list that may be changed.
func (g *grafter) find(list *[]*refscan.Node, is func(*refscan.Node) bool) *refscan.Node {
	i := slices.IndexFunc(*list, is)
	if i < 0 {
		return nil
	}
	n := (*list)[i]
	if !g.copied[n] {
		c := *n
		n = &c
		n.Children = slices.Clone(n.Children)
		g.copied[n], (*list)[i] = true, n
	}
	return n
}

// leaf adds blocks that parts of a node's objects lead to, and whole ones by the name "*".
func (g *grafter) leaf(of *refscan.Node, label string, s nativeholders.Sum) {
	if label == "" {
		label = "*"
	}
	n := g.find(&of.Children, func(n *refscan.Node) bool { return n.Name == label && n.Type == nodename.NativeBlock })
	if n == nil {
		n = &refscan.Node{Name: label, Type: nodename.NativeBlock}
		of.Children = append(of.Children, n)
		g.copied[n] = true
	}
	n.Objects += s.Blocks
	n.Bytes += s.Bytes
}

// root adds blocks that are a root of their own.
func (g *grafter) root(name string, info refscan.RootInfo, s nativeholders.Sum) {
	n := g.find(&g.roots, func(n *refscan.Node) bool { return n.Name == name && *n.Root == info })
	if n == nil {
		n = &refscan.Node{Name: name, Type: nodename.NativeBlock, Root: &info}
		g.roots = append(g.roots, n)
		g.copied[n] = true
	}
	n.Objects += s.Blocks
	n.Bytes += s.Bytes
}

func (g *grafter) sorted() []*refscan.Node {
	sort.Slice(g.roots, func(i, j int) bool { return g.roots[i].Name < g.roots[j].Name })
	return g.roots
}

// variable names a C variable as cgo does, "C.cache_head", or by its library, without the library's
// version: "libfoo.so:cache_head".
func variable(p *nativeholders.Place) (name, pkg string) {
	if program, err := os.Executable(); err == nil && p.File == filepath.Base(program) {
		return nodename.Join(cgoPackage, cmp.Or(p.Name, "*")), cgoPackage
	}
	library, _, _ := strings.Cut(p.File, ".so")
	name, pkg = library+".so", cgoPackage
	if library == "libc" {
		pkg = ""
	}
	if p.Name != "" {
		name += ":" + p.Name
	}
	return name, pkg
}
