package leakcheck

import (
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// A branch is a node of a folded report in its place: with its path, its root, and the totals of what
// lies below it. Branches are copies; the report stays as it was.
type branch struct {
	name, path, typ string
	objects, bytes  int64 // of this node alone
	untypedObjects  int64
	untypedBytes    int64
	elems           int64
	ended           int64 // of objects, those whose use is over
	endedState      string
	total           tally // of this node and all below
	retained        tally // what cutting it would free, and what of total would stay; see refscan.WithRetained
	shared          tally
	root            *refscan.RootInfo
	parent          *branch
	children        []*branch
	allocations     []refscan.Allocation // of its own objects
}

// A tally is a number of heap objects and their bytes.
type tally struct {
	objects, bytes int64
}

func (t tally) plus(u tally) tally { return tally{t.objects + u.objects, t.bytes + u.bytes} }

// beyond returns what of t goes beyond u, never less than nothing.
func (t tally) beyond(u tally) tally {
	return tally{max(0, t.objects-u.objects), max(0, t.bytes-u.bytes)}
}

// A forest is the branches of one report.
type forest []*branch

// growForest copies a report's folded tree. What the tool itself keeps (options, baselines) is not part
// of it.
func growForest(r *refscan.Report) forest { return growTrees(r.Fold().Roots) }

func growTrees(roots []*refscan.Node) forest {
	var f forest
	for _, n := range roots {
		info := n.Root
		if info == nil {
			info = &refscan.RootInfo{Kind: refscan.RootOther, Package: packageOf(n.Name)}
		}
		if b := newBranch(n, nil, info); b != nil {
			f = append(f, b)
		}
	}
	f.sum()
	return f
}

func newBranch(n *refscan.Node, parent *branch, root *refscan.RootInfo) *branch {
	if isOwn(n) {
		return nil
	}
	b := &branch{
		name: unescapePath(n.Name), typ: cleanType(n.Type), root: root, parent: parent,
		objects: n.Objects, bytes: n.Bytes,
		untypedObjects: n.UntypedObjects, untypedBytes: n.UntypedBytes, elems: n.Elems,
		ended: n.Ended, endedState: n.EndedState, allocations: n.Allocations,
		retained: tally{n.RetainedObjects, n.RetainedBytes}, shared: tally{n.SharedObjects, n.SharedBytes},
	}
	b.path = b.name
	if parent != nil {
		b.path = refscan.JoinPath(parent.path, b.name)
	}
	for _, c := range n.Children {
		if child := newBranch(c, b, root); child != nil {
			b.children = append(b.children, child)
		}
	}
	return b
}

const ownModule = "github.com/leakgate/leakgate/"

var ownPackages = []string{"leakcheck", "refscan", "golden", "internal/verdict"}

func isOwnPackage(pkg string) bool {
	rest, own := strings.CutPrefix(pkg, ownModule)
	if !own {
		return false
	}
	for _, p := range ownPackages {
		if rest == p || strings.HasPrefix(rest, p+"/") {
			return true
		}
	}
	return false
}

// isOwn reports whether a node is the tool's own.
func isOwn(n *refscan.Node) bool {
	return isOwnType(n.Type) || n.Root != nil && n.Root.Kind == refscan.RootGlobal && isOwnPackage(n.Root.Package)
}

func isOwnType(name string) bool {
	i := strings.Index(name, ownModule)
	return i >= 0 && isOwnPackage(packageOf(name[i:]))
}

// sum fills in the totals.
func (f forest) sum() {
	for _, b := range f {
		b.sum()
	}
}

func (b *branch) sum() tally {
	b.total = tally{b.objects, b.bytes}
	for _, c := range b.children {
		b.total = b.total.plus(c.sum())
	}
	return b.total
}

func (f forest) total() tally {
	var t tally
	for _, b := range f {
		t = t.plus(b.total)
	}
	return t
}

// all yields every branch, parents first. A consumer that returns false for a branch skips what is below
// it.
func (f forest) all(visit func(*branch) bool) {
	for _, b := range f {
		if visit(b) {
			forest(b.children).all(visit)
		}
	}
}

// keep returns the roots that a scope includes.
//
//go:noinline
func (f forest) keep(s scope) forest {
	var kept forest
	for _, b := range f {
		if s.includes(b.root) {
			kept = append(kept, b)
		}
	}
	return kept
}

// without returns a copy that lacks the branches for which cut says so, together with all below them, and
// the branches that were cut.
func (f forest) without(cut func(*branch) bool) (rest, removed forest) {
	rest, removed = prune(f, nil, cut)
	rest.sum()
	return rest, removed
}

func prune(f forest, parent *branch, cut func(*branch) bool) (rest, removed forest) {
	for _, b := range f {
		if cut(b) {
			removed = append(removed, b)
			continue
		}
		c := *b
		c.parent = parent
		below, gone := prune(b.children, &c, cut)
		c.children = below
		rest = append(rest, &c)
		removed = append(removed, gone...)
	}
	return rest, removed
}

// growth returns a copy in which every path and type has only what goes beyond its figures in base.
func (f forest) growth(base forest) forest {
	type key struct{ path, typ string }
	type figures struct{ objects, bytes, untypedObjects, untypedBytes, elems, ended int64 }
	before := make(map[key]*figures)
	base.all(func(b *branch) bool {
		k := key{b.path, b.typ}
		if before[k] == nil {
			before[k] = &figures{}
		}
		was := before[k]
		was.objects += b.objects
		was.bytes += b.bytes
		was.untypedObjects += b.untypedObjects
		was.untypedBytes += b.untypedBytes
		was.elems += b.elems
		was.ended += b.ended
		return true
	})
	grown, _ := prune(f, nil, func(*branch) bool { return false })
	grown.all(func(b *branch) bool {
		was := before[key{b.path, b.typ}]
		if was == nil {
			return true
		}
		deduct(&b.objects, &was.objects)
		deduct(&b.bytes, &was.bytes)
		deduct(&b.untypedObjects, &was.untypedObjects)
		deduct(&b.untypedBytes, &was.untypedBytes)
		deduct(&b.elems, &was.elems)
		deduct(&b.ended, &was.ended)
		return true
	})
	grown.sum()
	return grown
}

// deduct takes from now what was there before, and that once: several branches may share a path and type.
func deduct(now, before *int64) {
	n := min(*now, *before)
	*now -= n
	*before -= n
}

// line returns the branches from the root down to b.
//
//go:noinline
func (b *branch) line() []*branch {
	if b.parent == nil {
		return []*branch{b}
	}
	return append(b.parent.line(), b)
}
