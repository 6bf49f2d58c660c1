// Package tree has the folded tree of a report, with paths and totals, and selects the branches
// that count.
package tree

import (
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// A Branch is a node of a folded report with its path, its root, and the totals of all below it.
// Branches are copies; the report stays as it was.
type Branch struct {
	Name, Path, Typ string
	refscan.Figures // of this node alone
	EndedState      string
	// the element of an array that has by far the most objects, and how many, see refscan.Node; 0:
	// none has
	Element        int
	ElementObjects int64
	// the path from one of the objects to the next, where a recursive type folds; "" if it does not
	Recursion string
	Total     Tally // of this node and all below
	// Retained is what cutting the node would free, Shared the part of Total that would stay; see
	// refscan.WithRetained
	Retained    Tally
	Shared      Tally
	Root        *refscan.RootInfo
	Parent      *Branch
	Children    []*Branch
	Allocations []refscan.Allocation // allocation sites of the node's own objects
}

// A Forest is the branches of one report.
type Forest []*Branch

// GrowForest copies a report's folded tree. It leaves out what the tool itself keeps (options,
// baselines).
func GrowForest(r *refscan.Report) Forest { return GrowTrees(r.Fold().Roots) }

func GrowTrees(roots []*refscan.Node) Forest {
	var f Forest
	for _, n := range roots {
		info := n.Root
		if info == nil {
			info = &refscan.RootInfo{Kind: refscan.RootOther, Package: symbol.Package(n.Name)}
		}
		if b := NewBranch(n, nil, info); b != nil {
			f = append(f, b)
		}
	}
	f.sum()
	return f
}

func NewBranch(n *refscan.Node, parent *Branch, root *refscan.RootInfo) *Branch {
	if IsOwn(n) {
		return nil
	}
	b := &Branch{
		Name: symbol.Unescape(n.Name), Typ: naming.CleanType(n.Type), Root: root, Parent: parent,
		Figures: n.Figures, EndedState: n.EndedState, Element: n.Element, ElementObjects: n.ElementObjects, Recursion: symbol.Unescape(n.Recursion), Allocations: n.Allocations,
		Retained: Tally{n.RetainedObjects, n.RetainedBytes}, Shared: Tally{n.SharedObjects, n.SharedBytes},
	}
	b.Path = b.Name
	if parent != nil {
		b.Path = symbol.JoinPath(parent.Path, b.Name)
	}
	for _, c := range n.Children {
		if child := NewBranch(c, b, root); child != nil {
			b.Children = append(b.Children, child)
		}
	}
	return b
}

const ownModule = "github.com/leakgate/leakgate/"

// IsOwn reports whether a node is the tool's own. The ancestors of goroutines are kept for it alone
// (GODEBUG=tracebackancestors).
func IsOwn(n *refscan.Node) bool {
	return isOwnType(n.Type) || strings.HasSuffix(n.Type, "[]runtime.ancestorInfo") || n.Root != nil && n.Root.Kind == refscan.RootGlobal && symbol.IsTool(n.Root.Package)
}

func isOwnType(name string) bool {
	i := strings.Index(name, ownModule)
	return i >= 0 && symbol.IsTool(symbol.Package(name[i:]))
}

// sum fills in the totals.
func (f Forest) sum() {
	for _, b := range f {
		b.sum()
	}
}

func (b *Branch) sum() Tally {
	b.Total = Tally{b.Objects, b.Bytes}
	for _, c := range b.Children {
		b.Total = b.Total.Plus(c.sum())
	}
	return b.Total
}

func (f Forest) Total() Tally {
	var t Tally
	for _, b := range f {
		t = t.Plus(b.Total)
	}
	return t
}

// All yields every branch, parents first. A consumer that returns false for a branch skips what is
// below it.
func (f Forest) All(visit func(*Branch) bool) {
	for _, b := range f {
		if visit(b) {
			Forest(b.Children).All(visit)
		}
	}
}

// without returns a copy that lacks the branches for which cut returns true, together with all
// below them. It also returns these branches.
func (f Forest) without(cut func(*Branch) bool) (rest, removed Forest) {
	rest, removed = prune(f, nil, cut)
	rest.sum()
	return rest, removed
}

func prune(f Forest, parent *Branch, cut func(*Branch) bool) (rest, removed Forest) {
	for _, b := range f {
		if cut(b) {
			removed = append(removed, b)
			continue
		}
		c := *b
		c.Parent = parent
		below, gone := prune(b.Children, &c, cut)
		c.Children = below
		rest = append(rest, &c)
		removed = append(removed, gone...)
	}
	return rest, removed
}

// Growth returns a copy of f from which the figures of base are subtracted. Branches are compared
// by their GrowthKey, the ends of a list one by one.
func (f Forest) Growth(base Forest) Forest {
	before := make(map[GrowthKey]*refscan.Figures)
	base.All(func(b *Branch) bool {
		k := b.ownKey()
		if before[k] == nil {
			before[k] = new(refscan.Figures)
		}
		before[k].Add(&b.Figures)
		return true
	})
	grown, _ := prune(f, nil, func(*Branch) bool { return false })
	grown.All(func(b *Branch) bool {
		if was := before[b.ownKey()]; was != nil {
			room := b.RoomBytes // of now: what has been filled is no room that is gone
			b.Figures.Sub(was)
			b.RoomBytes = room
		}
		return true
	})
	grown.sum()
	return grown
}

// Line returns the branches from the root down to b. Inlined at its calls it would take 8 KB.
//
//go:noinline
func (b *Branch) Line() []*Branch {
	if b.Parent == nil {
		return []*Branch{b}
	}
	return append(b.Parent.Line(), b)
}

// A GrowthKey identifies branches across snapshots; the figures of branches with equal keys are
// added up. Goroutines that were started in different places have different variables, even if
// these have the same name. The ends of a doubly linked list have one key.
type GrowthKey struct{ path, typ, createdAt string }

// GrowthKey is the key of the branch; the ends of a list have that of the first. Inlined at its
// calls it would take 12 KB.
//
//go:noinline
func (b *Branch) GrowthKey() GrowthKey { return b.firstEnd().ownKey() }

func (b *Branch) ownKey() GrowthKey { return GrowthKey{b.Path, b.Typ, b.Root.CreatedAt} }

// firstEnd returns the first of the branches that lead to the same list from its ends, one by each
// element's "next" and one by its "prev"; b itself if it leads to no such list. An element counts
// at the nearer end, so that each end has half of what is added to the list.
func (b *Branch) firstEnd() *Branch {
	if b.Recursion == "" || b.Parent == nil {
		return b
	}
	for _, c := range b.Parent.Children {
		if c == b || c.Typ == b.Typ && c.Recursion != "" && c.Recursion != b.Recursion {
			return c
		}
	}
	return b
}

// NodeKeys returns the naming.NodeKey of each branch's node.
func NodeKeys(branches []*Branch) []string {
	keys := make([]string, len(branches))
	for i, b := range branches {
		keys[i] = naming.NodeKey(b.Path, b.Typ, b.Root.Goroutine, b.Root.CreatedAt)
	}
	return keys
}

// BelongsToGoroutine reports whether a branch is the runtime's record of a goroutine, or of its
// wait for a channel: goroutines are counted by themselves.
func (b *Branch) BelongsToGoroutine() bool {
	typ := strings.TrimLeft(b.Typ, "*")
	return typ == "runtime.g" || typ == "runtime.sudog"
}

// IsEntries reports whether a branch stands for entries of a map that lie inside of its tables, and
// are no objects of their own.
func (b *Branch) IsEntries() bool {
	return b.Objects > 0 && b.Bytes == 0 && b.Parent != nil && strings.HasPrefix(b.Parent.Typ, "map[") && strings.HasPrefix(b.Name, "[*]")
}

// OutsideBelow returns how many objects the elements of a branch's slices keep alive (all), and how
// many of those are kept alive by elements beyond the length (outside).
func (b *Branch) OutsideBelow() (outside, all int64) {
	if b.Cap == 0 {
		return 0, 0
	}
	for _, c := range b.Children {
		if strings.HasPrefix(c.Name, "[*]") {
			outside += c.Beyond
			all += c.Objects
		}
	}
	return outside, all
}

// IsBeyondLength reports whether most objects of a branch, or most objects that its elements hold,
// lie beyond the length of slices.
func (b *Branch) IsBeyondLength() bool {
	outside, all := b.OutsideBelow()
	return 2*b.Beyond > b.Objects || 2*outside > all
}

// IsOver reports whether the use of all objects of a branch is over.
func (b *Branch) IsOver() bool { return b.Ended > 0 && b.Ended >= b.Objects }

// isAt reports whether a pattern of paths, roots or functions matches a path, or its root; root is
// nil for a path below a root.
func isAt(p naming.Pattern, path string, root *refscan.RootInfo) bool {
	return p.MatchPrefix(path) || root != nil && StartedIn(root, p)
}

// ownRoot returns the root that a branch is, nil if it lies below one.
func (b *Branch) ownRoot() *refscan.RootInfo {
	if b.Parent != nil {
		return nil
	}
	return b.Root
}

// StartedIn reports whether a root is a variable of a goroutine whose function or entry function
// the pattern names.
func StartedIn(info *refscan.RootInfo, p naming.Pattern) bool {
	if info.Kind != refscan.RootFrame {
		return false
	}
	return info.Func != "" && p.MatchPrefix(symbol.Unescape(info.Func)) ||
		info.Goroutine != "" && p.MatchPrefix(symbol.Unescape(info.Goroutine))
}
