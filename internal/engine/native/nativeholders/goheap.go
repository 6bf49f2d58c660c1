package nativeholders

import (
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A goHeap scans the objects of Go as they are charged to nodes.
type goHeap struct {
	*finder
	// parts of maps and channels, scanned last: their owner first names the references that it
	// knows, so that what remains is numbers
	parts []part
}

type part struct {
	node *attribute.Node
	obj  uint32
}

// objects scans all live objects of Go, except the tool's own.
func (f *finder) objects() error {
	if err := f.readPlain(); err != nil {
		return err
	}
	g := &goHeap{finder: f}
	charge := g.charged
	if f.cut != nil && !f.cut.after {
		charge = f.cut.charge(charge)
	}
	attribute.Run(f.heap, f.program, attribute.Options{Watch: &attribute.Watcher{Charge: charge}})
	g.walkParts()
	return nil
}

// readPlain reads the memory of spans without pointers, once: numbers may be addresses, too.
func (f *finder) readPlain() error {
	if f.plain != nil {
		return nil
	}
	f.plain = make(map[uint64][]byte)
	var ranges []image.Range
	for i := range f.heap.Model.Spans {
		if s := &f.heap.Model.Spans[i]; s.NoScan {
			ranges = append(ranges, image.Range{Addr: s.Base, Len: s.Size})
		}
	}
	return f.read(ranges, func(i int, mem []byte) { f.plain[ranges[i].Addr] = mem })
}

// walkParts scans the parts of maps and channels.
func (g *goHeap) walkParts() {
	for _, p := range g.parts {
		mem, addr := g.memory(p.obj)
		g.words(mem, addr, g.named(p.node, "[*]", asNumber))
	}
	g.parts = nil
}

// charged scans what a claim charges to a node.
func (g *goHeap) charged(n *attribute.Node, c attribute.Claim) {
	switch {
	case c.Kind == attribute.KindEntries, n.Top().Root.Class.IsTool():
	case c.Kind == attribute.KindPart:
		g.parts = append(g.parts, part{n, c.Obj})
	case c.Kind == attribute.KindTiny:
		mem, addr := g.memory(c.Obj)
		if end := int(c.Off) + int(c.Bytes); end <= len(mem) {
			g.words(mem[c.Off:end], addr+uint64(c.Off), g.named(n, "", asNumber))
		}
	case c.Obj >= g.heap.AnonymousBase():
		a := &g.heap.Anonymous.List[c.Obj-g.heap.AnonymousBase()]
		g.object(n, a.Typing, c.Obj, a.Mem, a.Addr, always)
	default:
		mem, addr := g.memory(c.Obj)
		t := always
		if g.heap.Model.SpanOf(c.Obj).NoScan {
			t = asNumber
		}
		g.object(n, g.heap.Typings.Of(c.Obj), c.Obj, mem, addr, t)
	}
}

// memory returns the memory of an object, and its address.
func (g *goHeap) memory(obj uint32) ([]byte, uint64) {
	s := g.heap.Model.SpanOf(obj)
	if !s.NoScan {
		return heaptype.Payload(s, obj)
	}
	addr := s.Addr(obj)
	if off := addr - s.Base; off+s.ElemSize <= uint64(len(g.plain[s.Base])) {
		return g.plain[s.Base][off : off+s.ElemSize], addr
	}
	return nil, addr
}

// named returns a function that gives words of a node's objects their owner, 0 if they are not
// trusted.
func (g *goHeap) named(n *attribute.Node, label string, as trust) func(uint64, bool) int32 {
	return func(_ uint64, atStart bool) int32 {
		if !as.allows(atStart) {
			return 0
		}
		return g.name(n, label)
	}
}

// object scans an object, or data that the compiler made: first its references by their names, then
// all its words. untyped is the trust in words of unknown type.
func (g *goHeap) object(n *attribute.Node, ty typing.Typing, obj uint32, mem []byte, addr uint64, untyped trust) {
	t := g.heap.Types.At(ty.Type)
	start := addr + uint64(ty.Offset) // the words before have no type
	name := g.named(n, "", untyped)
	in := func(label string, off int64, atStart bool) int32 {
		part, as := labelAt(g.heap.Types.Names, t.Origin, off)
		if !as.allows(atStart) {
			return 0
		}
		return g.name(n, join(label, part))
	}
	switch ty.Layout {
	case heaptype.LayoutValue, heaptype.LayoutBoxed:
		name = func(at uint64, atStart bool) int32 { return in("", int64(at-start), atStart) }
	case heaptype.LayoutArray:
		name = g.named(n, "[*]", untyped)
		if t.Size > 0 {
			name = func(at uint64, atStart bool) int32 { return in("[*]", int64((at-start)%t.Size), atStart) }
		}
	case heaptype.LayoutMap, heaptype.LayoutTrie, heaptype.LayoutChan, heaptype.LayoutClosure:
		w := heaptype.Walker{Types: g.heap.Types}
		w.Emit = func(e heaptype.Edge) {
			if e.Ref < heaptype.RefEntry {
				g.refer(e.To, func() int32 { return g.name(n, symbol.FoldPath(heaptype.LabelOf(t, ty.Layout, e.Ref))) })
			}
		}
		g.heap.References(&w, obj)
	}
	g.words(mem, addr, name)
}

// name returns the owner for a part of the objects of a node.
func (g *goHeap) name(n *attribute.Node, label string) int32 {
	return g.place(Place{Kind: Go, Node: n, Label: label})
}

// frames scans the stacks of goroutines from their stack pointers on. Words in frames of the tool
// do not count.
func (f *finder) frames() {
	for i := range f.heap.Live.Stacks {
		g := f.heap.Live.Stacks[i].Goroutine
		f.words(g.Stack(g.SP), g.SP, func(at uint64, _ bool) int32 {
			name := "?"
			_ = f.heap.Model.Frames(g, func(fr *goruntime.Frame) error {
				if fr.SP <= at && at < fr.FP {
					name = fr.Func.Name
				}
				return nil
			})
			if f.isTool(symbol.Package(name)) {
				return 0
			}
			return f.place(Place{Kind: Frame, Variable: name})
		})
	}
}

func (f *finder) isTool(pkg string) bool { return f.program.IsTool != nil && f.program.IsTool(pkg) }
