package attribute

import (
	"slices"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Selection says what a node may be charged with.
type Selection uint8

const (
	unselected Selection = iota
	Through              // anything
	In                   // objects of Part.Within, as all nodes below may
	Out                  // nothing
)

// A Part limits an attribution to a part of the tree. Roots that are Out claim nothing. The result
// has no totals.
type Part struct {
	Select func(path string, of *root.Root) Selection // by path in a folded report
	Within objset.Set                                 // by object and anonymous static data; nil: all
	// Tops leaves out what the objects of nodes with In refer to.
	Tops bool
}

// IsWithin reports whether a node has In, after a Run with a Part.
func (n *Node) IsWithin() bool { return n.selected == In }

// isTop reports whether a node with In is the topmost one on its path.
func (n *Node) isTop() bool {
	return n.selected == In && (n.parent == nil || n.parent.selected != In)
}

// A lateClaim is what a node of an Order's LeftOutPath refers to: it is claimed in ClassLeftOut.
type lateClaim struct {
	node  *Node
	label string
	bundle
}

// admits reports whether the objects of a bundle that n refers to may be claimed now. It leaves in
// the bundle only those that may be claimed at all, and keeps what may be claimed later.
func (a *attributor) admits(n *Node, b *bundle, labels []string) bool {
	if !a.selects || b.kind == KindPart {
		return true
	}
	if p := a.options.Part; p != nil && p.Tops {
		if a.selectNode(n); n.selected == In {
			return false
		}
	}
	to := n
	if ty := (typing.Typing{Type: b.typ, Layout: b.layout}); b.typ != 0 {
		if to = n.linked(b.ref, ty); to == nil {
			to = a.child(n, a.label(n, b.ref, labels), ty, typing.RefName(a.heap.Types, ty))
		}
		if to == nil {
			to = n
		}
	}
	switch a.selectNode(to); {
	case to.selected == Out:
		return false
	case to.selected == In && b.kind != KindTiny && a.options.Part.Within != nil:
		kept := b.words[:0]
		for i := 0; i < len(b.words); i += b.step() {
			if a.options.Part.Within.Has(b.words[i]) {
				kept = append(kept, b.words[i:i+b.step()]...)
			}
		}
		b.words = kept
	}
	if !to.leftOut || a.phase >= root.ClassLeftOut {
		return true
	}
	late := lateClaim{n, a.label(n, b.ref, labels), *b}
	late.words = slices.Clone(b.words)
	a.late = append(a.late, late)
	return false
}

// label names a reference of a node.
func (a *attributor) label(n *Node, ref uint32, labels []string) string {
	if labels != nil {
		return labels[ref]
	}
	return heaptype.LabelOf(a.heap.Types.At(n.typing.Type), n.typing.Layout, ref)
}

// selectNode finds what a node is selected for, and whether the order leaves it out, once.
func (a *attributor) selectNode(n *Node) {
	if n.selected != unselected {
		return
	}
	n.selected = Through
	if n.parent != nil {
		a.selectNode(n.parent)
		n.leftOut = n.parent.leftOut
	}
	top := n.Top().Root
	switch p := a.options.Part; {
	case p == nil:
	case n.parent != nil && n.parent.selected == In:
		n.selected = In
	default:
		n.selected = p.Select(a.paths.Of(n), top)
	}
	if leftOut := a.order.LeftOutPath; leftOut != nil && !n.leftOut && top.Class < root.ClassLeftOut {
		n.leftOut = leftOut(a.paths.Of(n), top)
	}
}

// beginsPart reports whether a child of n would be the topmost node of a part.
func (a *attributor) beginsPart(n *Node, label string) bool {
	if a.options.Part == nil {
		return false
	}
	a.selectNode(n)
	return n.selected == Through && label != "" && a.options.Part.Select(symbol.JoinPath(a.paths.Of(n), symbol.FoldPath(label)), n.Top().Root) == In
}

// claimLate claims what left-out nodes refer to.
func (a *attributor) claimLate() {
	late := a.late
	a.late = nil
	for i := range late {
		l := &late[i]
		if l.kind == KindTiny {
			l.words = a.unseen(l.words)
		}
		a.groups = a.groups[:0]
		a.take(&l.bundle)
		if len(a.groups) > 0 {
			links := l.node.links
			l.node.links = nil // those of roots are gone already
			a.charge(l.node, 0, l.outside, []string{l.label})
			l.node.links = links
		}
	}
}

// opens reports whether a root may be charged at all.
func (a *attributor) opens(r *root.Root) bool {
	return a.options.Part == nil || a.options.Part.Select(symbol.FoldPath(r.Name), r) != Out
}
