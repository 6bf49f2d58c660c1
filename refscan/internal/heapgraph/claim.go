package heapgraph

import (
	"math/bits"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// claimAll charges the unclaimed objects that equal references of one node lead to.
func (a *attributor) claimAll(n *Node, label string, edges []edge) {
	type group struct {
		ty    typing
		objs  []uint32
		seen  []claim // if watched
		count int64
		bytes int64
		ended int64
		state string
	}
	var groups []*group
	var last *group
	for _, e := range edges {
		obj, ty, bytes, ok := a.take(e)
		if !ok {
			continue
		}
		key := typing{typ: ty.typ, form: ty.form}
		if last == nil || last.ty != key {
			last = nil
			for _, g := range groups {
				if g.ty == key {
					last = g
				}
			}
			if last == nil {
				last = &group{ty: key}
				groups = append(groups, last)
			}
		}
		if obj < a.g.staticBase() {
			last.count++
			last.bytes += bytes
			if state, over := a.g.ended(obj, ty, false); over {
				last.ended, last.state = last.ended+1, state
			}
		}
		last.objs = append(last.objs, obj)
		if a.watch != nil {
			last.seen = append(last.seen, claim{obj: obj, addr: e.to, objects: 1, bytes: bytes, static: obj >= a.g.staticBase()})
		}
	}
	if len(groups) > 1 {
		types := a.g.types
		name := func(g *group) string {
			if g.ty.typ == 0 {
				return "\xff" // untyped ones last
			}
			return a.g.types.refName(g.ty)
		}
		sort.Slice(groups, func(i, j int) bool {
			x, y := groups[i], groups[j]
			if a, b := name(x), name(y); a != b || x.ty.typ == y.ty.typ {
				return a < b
			}
			return types.at(x.ty.typ).before(types.at(y.ty.typ))
		})
	}
	for _, g := range groups {
		var to *Node
		if g.ty.typ != 0 {
			to = a.child(n, label, g.ty, a.g.types.refName(g.ty))
		}
		untyped := to == nil
		if untyped {
			to = n
			n.UntypedObjects += g.count
			n.UntypedBytes += g.bytes
		}
		to.Objects += g.count
		to.Bytes += g.bytes
		if g.ended > 0 {
			to.Ended, to.EndedState = to.Ended+g.ended, g.state
		}
		if len(to.pending) == 0 {
			a.queue = append(a.queue, to)
		}
		to.pending = append(to.pending, g.objs...)
		for _, c := range g.seen {
			c.untyped = untyped
			a.watch.charge(to, c)
		}
	}
}

// maxTree bounds the report: the sum of its nodes' depths, and of nodeSize for each node. Whatever is in the heap, a report so has at
// most half a million nodes and 4,096 levels, which takes some 300 MB, and less than the 10,000 levels that
// encoding/json reads.
const (
	maxTree  = 1 << 23
	nodeSize = 16
)

// child returns the node for objects of a type behind a reference. A type that is already on the path
// folds into the node where it stands. The reference "" is the root variable itself. If the tree is as large as
// it may be, there is no new node: nil.
func (a *attributor) child(n *Node, label string, ty typing, typeName string) *Node {
	if label == "" && n.Root == nil {
		label = "$val" // a pointer to a reference, or a reference boxed in an interface
	}
	key := childKey{label, ty.typ, ty.form}
	if c := n.kids[key]; c != nil {
		return c
	}
	var c *Node
	if ty.typ != 0 && a.g.types.at(ty.typ).HasPointers() || ty.form == formMap || ty.form == formChan || ty.form == formTrie {
		named := isNamed(a.g.types.at(ty.typ).Name)
		for p := n; p != nil; p = p.parent {
			if p.typing.typ == ty.typ && p.typing.form == ty.form && (named || p.Name == label) {
				c = p
				break
			}
		}
	}
	if c == nil && label == "" && n.Root != nil && n.typing.typ == 0 && !n.ownTyped {
		// The variable refers to these objects itself.
		n.typing, n.Type, n.ownTyped = typing{typ: ty.typ, form: ty.form}, typeName, true
		a.seq++
		n.seq = a.seq
		c = n
	}
	if c == nil && a.size > a.g.maxTree {
		return nil
	}
	if c == nil {
		c = &Node{Name: label, Type: typeName, typing: typing{typ: ty.typ, form: ty.form}, parent: n, depth: n.depth + 1}
		a.size += nodeSize + int(c.depth)
		a.seq++
		c.seq = a.seq
		if label == "" { // a variable that holds several types, in several goroutines or over time
			own := *n.Root
			c.Name, c.Root, c.parent, c.Goroutines, c.ownTyped = n.Name, &own, nil, n.Goroutines, true
			c.depth = 0
			a.nodes = append(a.nodes, c)
		} else {
			n.Children = append(n.Children, c)
		}
	}
	if n.kids == nil {
		n.kids = make(map[childKey]*Node)
	}
	n.kids[key] = c
	return c
}

// isNamed reports whether a type has a name of its own. Types without one recur by chance: a
// map[string]any inside of another only folds where it hangs on the same kind of reference.
func isNamed(typeName string) bool {
	head, _, _ := strings.Cut(typeName, "[")
	return strings.Contains(head, ".") && !strings.ContainsAny(head, "*(){ ")
}

// take claims the object behind a reference, if it has its turn and nobody claimed it before. Small
// values that share a block are taken one by one.
func (a *attributor) take(e edge) (obj uint32, ty typing, bytes int64, ok bool) {
	g := a.g
	s, obj := g.m.Object(e.to)
	if s == nil {
		return a.takeStatic(e)
	}
	if !g.marked.has(obj) {
		return 0, typing{}, 0, false
	}
	if s.Tiny {
		return a.takeTiny(e, s, obj)
	}
	ty = g.typing.of(obj)
	if ty.form == formInternal && a.phase < classRest {
		return 0, typing{}, 0, false // its map or channel will claim it
	}
	if a.claimed.has(obj) {
		return 0, typing{}, 0, false
	}
	if c := a.turnOf(ty); c > a.phase {
		a.later[c] = append(a.later[c], e)
		return 0, typing{}, 0, false
	}
	a.claimed.add(obj)
	if a.phase == classTool {
		a.tool.add(obj)
	}
	return obj, ty, int64(s.ElemSize), true
}

// turnOf says in which phase objects of a type may be claimed.
func (a *attributor) turnOf(ty typing) class {
	if ty.typ == 0 {
		return classNamed
	}
	return a.g.types.at(ty.typ).turn
}

// turnOf says it of the type with a name.
func turnOf(name string) class {
	switch {
	case isTool(PackageOf(strings.TrimPrefix(name, "func "))):
		return classTool
	case name == "runtime.g" || name == "runtime.m" || name == "runtime.p" || name == "runtime.sudog":
		return classRuntime
	}
	return classNamed
}

func (a *attributor) takeStatic(e edge) (uint32, typing, int64, bool) {
	i, known := a.g.pieceAt[e.to]
	if !known || a.pieces[i] {
		return 0, typing{}, 0, false // variables are roots of their own
	}
	a.pieces[i] = true
	return a.g.staticBase() + uint32(i), a.g.pieces[i].typing, 0, true
}

func (a *attributor) takeTiny(e edge, s *goruntime.Span, obj uint32) (uint32, typing, int64, bool) {
	off := uint(e.to - s.Addr(obj))
	b := a.tiny[obj]
	if b.starts>>off&1 != 0 {
		return 0, typing{}, 0, false
	}
	b.starts |= 1 << off
	size := uint(16) - off
	if e.size != 0 && e.size < uint64(size) {
		size = uint(e.size)
	}
	fresh := uint16((1<<size-1)<<off) &^ b.bytes
	b.bytes |= fresh
	a.tiny[obj] = b
	a.claimed.add(obj)
	if a.phase == classTool {
		a.tool.add(obj)
	}
	ty := typing{}
	if e.typ != nil && !e.typ.HasPointers() {
		ty = typing{typ: e.typ.index, form: e.form}
	}
	n := int64(bits.OnesCount16(fresh))
	return obj, ty, n, true
}
