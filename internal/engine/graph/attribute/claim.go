package attribute

import (
	"math/bits"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
)

// A group sums up the targets of one type that one reference of a node leads to.
type group struct {
	Figures
	ty      typing.Typing
	child   *Node           // nil if it is not known yet
	state   string          // of those that are Ended
	partial []uint32        // arrays that are held in part
	runs    [][]uint32      // targets with pointers
	claims  []watchedClaims // all targets, if there is a watcher
}

// claim charges the unclaimed targets of the parts of one node, reference by reference. labels
// names the references of a root; nil: the type of the node's objects names them.
//
//go:norace
func (a *attributor) claim(n *Node, parts []part, labels []string) {
	for i := range parts {
		p := &parts[i]
		for p.at = 0; p.at < len(p.bundles) && p.bundles[p.at].kind == KindPart; p.at++ {
			a.groups = a.groups[:0]
			a.takeObjects(&p.bundles[p.at])
			for k := range a.groups {
				n.Bytes += a.groups[k].Bytes
				a.notify(n, &a.groups[k])
			}
		}
	}
	for {
		key, some := firstKey(parts)
		if !some {
			return
		}
		next := key.order()
		for i := range parts {
			p := &parts[i]
			for k := p.at; k < len(p.bundles) && p.bundles[k].order() == next; k++ {
				if b := &p.bundles[k]; b.kind == KindTiny {
					b.words = a.unseen(b.words)
				}
			}
		}
		a.groups = a.groups[:0]
		for i := range parts {
			for p := &parts[i]; p.at < len(p.bundles) && p.bundles[p.at].order() == next; p.at++ {
				if b := &p.bundles[p.at]; a.admits(n, b, labels) {
					a.take(b)
				}
			}
		}
		if len(a.groups) > 0 {
			a.charge(n, key.ref, key.outside, labels)
		}
	}
}

// firstKey returns the first key in order of the bundles that are left of the parts.
//
//go:norace
func firstKey(parts []part) (key bundleKey, some bool) {
	for i := range parts {
		if p := &parts[i]; p.at < len(p.bundles) && (!some || p.bundles[p.at].order() < key.order()) {
			key, some = p.bundles[p.at].bundleKey, true
		}
	}
	return key, some
}

// watchedClaims is a list of claims to report to a watcher. They differ only in the object, and for
// small values in the extent.
type watchedClaims struct {
	each  Claim
	words []uint32
}

// notify calls the watcher for each object that a node is charged with.
//
//go:norace
func (a *attributor) notify(n *Node, g *group) {
	for _, s := range g.claims {
		c := s.each
		c.Untyped = g.child == nil
		for i := 0; i < len(s.words); i++ {
			c.Obj = s.words[i]
			if c.Kind == KindTiny {
				i++
				c.Off, c.Bytes, c.Objects = uint8(s.words[i]), int64(s.words[i]>>8&0xff), int64(s.words[i]>>16)
			}
			a.watch.Charge(n, c)
		}
	}
}

// group returns the group of a type. Few types have more than one.
func (a *attributor) group(b *bundle) *group {
	for int(b.typ) >= len(a.groupAt) {
		a.groupAt = append(a.groupAt, 0)
	}
	first := int(a.groupAt[b.typ])
	if first >= len(a.groups) || a.groups[first].ty.Type != b.typ {
		first = len(a.groups)
		a.groupAt[b.typ] = int32(first)
	}
	for i := first; i < len(a.groups); i++ {
		if g := &a.groups[i]; g.ty.Type == b.typ && g.ty.Layout == b.layout {
			return g
		}
	}
	if len(a.groups) < cap(a.groups) {
		a.groups = a.groups[:len(a.groups)+1] // reuse its lists
	} else {
		a.groups = append(a.groups, group{})
	}
	g := &a.groups[len(a.groups)-1]
	*g = group{ty: typing.Typing{Type: b.typ, Layout: b.layout}, runs: g.runs[:0], claims: g.claims[:0], partial: g.partial[:0]}
	return g
}

// take claims the targets of a bundle that are not claimed yet.
//
//go:norace
func (a *attributor) take(b *bundle) {
	if b.kind == KindTiny {
		a.takeSmall(b)
	} else {
		a.takeObjects(b)
	}
}

// takeObjects claims the targets of a bundle that are not claimed yet. It postpones targets whose
// class comes later.
//
//go:norace
func (a *attributor) takeObjects(b *bundle) {
	if c := a.classes.Of(b.typ); c > a.phase {
		a.postpone(b, c)
		return
	}
	// The bundle's own list becomes the list of the claimed targets.
	n, room := 0, int64(0)
	if b.held&withRoom != 0 {
		room = a.takeRooms(b)
		n = len(b.words)
	}
	for _, obj := range b.words[n:] {
		if a.unclaimed.Remove(obj) {
			b.words[n] = obj
			n++
		} else if b.held&inPart == 0 && a.partials.has(obj) {
			a.partials.doubt(obj)
		}
	}
	if n == 0 {
		return
	}
	b.words = b.words[:n]
	if b.kind == KindObject && b.layout == heaptype.LayoutChan {
		room = a.channelRooms(b)
	}
	to := a.group(b)
	each := Claim{Kind: b.kind, Bytes: int64(b.size)}
	if b.kind == KindObject {
		each.Objects = 1
	}
	to.Objects += int64(n) * each.Objects
	to.Bytes += int64(n) * each.Bytes
	to.RoomBytes += room
	if b.scan {
		to.runs = append(to.runs, b.words)
	}
	if b.held&inPart != 0 {
		to.partial = append(to.partial, b.words...)
	}
	if a.watch != nil {
		to.claims = append(to.claims, watchedClaims{each, b.words})
	}
	if b.scan && b.kind == KindObject && a.ended.Ends(to.ty) {
		for _, obj := range b.words {
			if state, over := a.ended.Of(obj, a.heap.Typings.Of(obj), false); over {
				to.Ended, to.state = to.Ended+1, state
			}
		}
	}
	if a.phase.IsTool() && b.kind != KindAnonymous {
		for _, obj := range b.words {
			a.tool.Add(obj)
		}
	}
}

// postpone leaves the targets of a bundle to the phase of a class.
//
//go:norace
func (a *attributor) postpone(b *bundle, c root.Class) {
	for i := 0; i < len(b.words); i += b.step() {
		if obj := b.words[i]; a.unclaimed.Has(obj) {
			a.deferred[c] = append(a.deferred[c], obj)
		}
	}
}

// takeRooms claims the arrays of slices with room, as takeObjects does other targets. It returns
// the room in the arrays that were not claimed before.
func (a *attributor) takeRooms(b *bundle) (bytes int64) {
	n := 0
	for i := 0; i < len(b.words); i += 2 {
		obj := b.words[i]
		if a.unclaimed.Remove(obj) {
			bytes += int64(b.words[i+1])
			b.words[n] = obj
			n++
		} else if b.held&inPart == 0 && a.partials.has(obj) {
			a.partials.doubt(obj)
		}
	}
	b.words = b.words[:n]
	return bytes
}

// channelRooms returns how much of the buffers of channels holds no element.
func (a *attributor) channelRooms(b *bundle) (bytes int64) {
	types := a.heap.Types
	for _, obj := range b.words {
		bytes += int64(types.ChannelRoom(types.At(b.typ), a.heap.Model.SpanOf(obj), obj))
	}
	return bytes
}

// unseen returns those of the small values at whose offset no value was seen to begin.
func (a *attributor) unseen(words []uint32) []uint32 {
	n := 0
	for i := 0; i < len(words); i += 2 {
		if obj, extent := words[i], words[i+1]; a.tiny.At(obj).Starts>>(extent&0xff)&1 == 0 {
			words[n], words[n+1] = obj, extent
			n += 2
		}
	}
	return words[:n]
}

// takeSmall claims values that share blocks, one by one; unseen has filtered them. Of several
// values at one address the longest counts. A block is the tool's if the tool claims all its
// values; in other blocks, the tool's values count as gaps.
func (a *attributor) takeSmall(b *bundle) {
	if len(b.words) == 0 {
		return
	}
	to := a.group(b)
	for i := 0; i < len(b.words); i += 2 {
		obj, off, size := b.words[i], b.words[i+1]&0xff, b.words[i+1]>>8
		block := a.tiny.At(obj)
		fresh := uint16((1<<size-1)<<off) &^ block.bytes
		bytes := int64(bits.OnesCount16(fresh))
		objects := int64(1 - block.Starts>>off&1)
		switch {
		case !a.phase.IsTool():
			a.tool.Remove(obj)
			block.bytes |= fresh
		case block.Starts == 0:
			a.tool.Add(obj)
		}
		block.Starts |= 1 << off
		a.unclaimed.Remove(obj)
		to.Objects += objects
		to.Bytes += bytes
		b.words[i+1] = off | uint32(bytes)<<8 | uint32(objects)<<16
	}
	if a.watch != nil {
		to.claims = append(to.claims, watchedClaims{Claim{Kind: KindTiny}, b.words})
	}
}

// charge charges the groups that one reference of a node leads to. outside: the reference lies in
// elements outside the length of slices.
//
//go:norace
func (a *attributor) charge(n *Node, ref uint32, outside bool, labels []string) {
	known := true
	for i := range a.groups {
		g := &a.groups[i]
		if g.ty.Type != 0 {
			g.child = n.linked(ref, g.ty)
			known = known && g.child != nil
		}
	}
	name := ""
	if !known {
		name = a.label(n, ref, labels)
		a.sortGroups()
	}
	for i := range a.groups {
		g := &a.groups[i]
		if g.child == nil && g.ty.Type != 0 {
			if g.child = a.child(n, name, g.ty, typing.RefName(a.heap.Types, g.ty)); g.child != nil && len(n.links) < maxLinks {
				n.links = append(n.links, link{ref, g.ty.Type, g.ty.Layout, g.child})
			}
		}
		to := g.child
		if to == nil {
			to = n
			g.UntypedObjects, g.UntypedBytes = g.Objects, g.Bytes
		}
		if outside && g.child != nil {
			g.Beyond = g.Objects
		}
		to.Figures.Add(&g.Figures)
		if g.Ended > 0 {
			to.EndedState = g.state
		}
		if g.child != nil {
			for _, obj := range g.partial {
				a.partials.charge(to, obj, a.heap.NumNodes(), a.heap.Types.At(g.ty.Type).Size)
			}
		}
		typeless := g.child == nil && g.ty.Type != 0 && (g.ty.Type != n.typing.Type || g.ty.Layout != n.typing.Layout)
		a.next.add(to, g.runs, typeless, a.sorter)
		a.notify(to, g)
	}
}

// sortGroups sorts the groups by the names of their types, untyped ones last. The order does not
// depend on the indexes of types.
func (a *attributor) sortGroups() {
	if len(a.groups) < 2 {
		return
	}
	name := func(g *group) string {
		if g.ty.Type == 0 {
			return "\xff"
		}
		return typing.RefName(a.heap.Types, g.ty)
	}
	groups, types := a.groups, a.heap.Types
	sort.Slice(groups, func(i, j int) bool {
		x, y := &groups[i], &groups[j]
		a, b := name(x), name(y)
		switch {
		case a != b:
			return a < b
		case x.ty.Layout != y.ty.Layout:
			return x.ty.Layout > y.ty.Layout // the array of a slice before the boxed slice
		case x.ty.Type == y.ty.Type:
			return false
		}
		return types.At(x.ty.Type).Before(types.At(y.ty.Type))
	})
}

// maxTree bounds the report: the sum over its nodes of depth and nodeSize. Whatever the heap holds,
// a report so has at most half a million nodes, which take some 300 MB, and 4,096 levels.
// encoding/json reads no more than 10,000 levels.
const (
	maxTree  = 1 << 23
	nodeSize = 16
)

// child returns the node for objects of a type behind a reference. A type that is already on the
// path folds into the node where it stands. The reference "" is the root variable itself. The
// result is nil if a new node would be needed, and the tree has reached its bound.
//
//go:norace
func (a *attributor) child(n *Node, label string, ty typing.Typing, typeName string) *Node {
	if label == "" && n.Root == nil {
		label = "$val" // a pointer to a reference, or a reference boxed in an interface
	}
	key := childKey{label, ty.Type, ty.Layout}
	if c := n.kids[key]; c != nil {
		return c
	}
	var c *Node
	if (ty.Type != 0 && a.heap.Types.At(ty.Type).HasPointers() || ty.Layout == heaptype.LayoutMap || ty.Layout == heaptype.LayoutChan || ty.Layout == heaptype.LayoutTrie) && !a.beginsPart(n, label) {
		named := isNamed(a.heap.Types.At(ty.Type).Name)
		for p := n; p != nil; p = p.parent {
			if p.typing.Type == ty.Type && p.typing.Layout == ty.Layout && (named || p.Name == label) {
				c = p
				p.recurs(n, label)
				break
			}
			if p.isTop() {
				break
			}
		}
	}
	if c == nil && label == "" && n.Root != nil && n.typing.Type == 0 && !n.ownTyped {
		// The variable refers to these objects itself.
		n.typing, n.Type, n.ownTyped = typing.Typing{Type: ty.Type, Layout: ty.Layout}, typeName, true
		a.seq++
		n.seq = a.seq
		c = n
	}
	if c == nil && a.size > a.options.MaxTree {
		return nil
	}
	if c == nil {
		c = &Node{Name: label, Type: typeName, typing: typing.Typing{Type: ty.Type, Layout: ty.Layout}, parent: n, depth: n.depth + 1}
		a.size += nodeSize + int(c.depth)
		a.seq++
		c.seq = a.seq
		if label == "" { // a variable that holds several types, in several goroutines or over time
			c.Name, c.Root, c.parent, c.Goroutines, c.ownTyped = n.Name, n.Root, nil, n.Goroutines, true
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
// map[string]any inside of another folds only if the same kind of reference leads to both.
//
//go:norace
func isNamed(typeName string) bool {
	head, _, _ := strings.Cut(typeName, "[")
	return strings.Contains(head, ".") && !strings.ContainsAny(head, "*(){ ")
}
