// Package root lists the roots of a heap: package variables, variables of frames, timers,
// finalizers, cleanups and the runtime's own records, by name and in a fixed order, with the
// references that each of them holds.
package root

import (
	"fmt"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/live"
	"github.com/leakgate/leakgate/internal/engine/heap/stackvar"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Kind is a sort of root.
type Kind uint8

// The kinds, in the order in which they win ties.
const (
	KindGlobal Kind = iota
	KindFrame
	KindTimer
	KindFinalizer
	KindCleanup
	KindOther
)

// Root identifies a root. Roots with equal fields are one.
type Root struct {
	Kind      Kind
	Name      string
	Package   string
	File      string
	Line      int
	Func      string
	Goroutine string
	CreatedBy string
	CreatedAt string
	Test      bool
	Caller    bool
	Class     Class
	// OfTest is set for the variables of functions of test files, or on the goroutine of a test,
	// and for package testing's own: tests use what they are about, and release it when they end.
	OfTest   bool
	standard bool // of the standard library: the program's own roots win ties
	inlined  bool // a variable of an inlined function: those of the frame's own function win ties
}

// Compare orders roots by class and kind, then by name and place; it returns a number below 0, 0
// or one above, as strings.Compare does. Equal heaps have equal orders.
func (a *Root) Compare(b *Root) int {
	if c := a.order() - b.order(); c != 0 {
		return c
	}
	for _, c := range [...]struct{ a, b string }{
		{a.Name, b.Name}, {a.Func, b.Func}, {a.Goroutine, b.Goroutine}, {a.CreatedBy, b.CreatedBy}, {a.CreatedAt, b.CreatedAt}, {a.File, b.File},
	} {
		if c.a != c.b {
			return strings.Compare(c.a, c.b)
		}
	}
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.rest() - b.rest()
}

// order is the sort key of roots that precedes their names.
func (r *Root) order() int {
	return int(r.Class)<<16 | bit(r.standard)<<15 | int(r.Kind)<<1 | bit(r.inlined)
}

// rest is the sort key of roots with equal names and places.
func (r *Root) rest() int { return bit(r.Test)<<1 | bit(r.Caller) }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// An Edge is a reference that a root holds. Goroutines may have millions of them together, so it
// has no pointers.
type Edge struct {
	To     uint64
	ID     uint64 // see Origin
	size   uint64 // typing of the target, as in heaptype.Edge
	typ    int32
	slack  uint32
	label  uint32 // see Entry.Label
	layout heaptype.Layout
	From   Origin
	inner  bool
}

// An Origin tells apart where references of one root lie.
type Origin uint8

const (
	FromVariable Origin = iota // typed memory of a package variable
	FromWord                   // ID is the address of a word that only a mask describes
	FromStack                  // ID is the address of the goroutine
	FromSpecial                // ID is an index of the heap's specials
	FromTimer                  // ID is the address of the timer, or of an array of them
)

// set collects roots with their references.
type set struct {
	heap    *typedheap.Heap
	program Program
	byKey   map[Root]*Entry
	list    []*Entry
	// the goroutines that have begun in the same way, and the entries of their variables
	bases map[base]*Root
	byVar map[variable]*Entry
}

// A base is what goroutines have in common that have begun in the same way.
type base struct {
	entry        *goruntime.Func
	created      uint64
	caller, test bool
}

// A variable of a function's frames on stacks of goroutines with the same base.
type variable struct {
	of  *Root
	the *stackvar.Var
}

// An Entry is a root with the references that it holds.
type Entry struct {
	Root
	Type       string
	Edges      []Edge
	Goroutines int64 // that have it
	Pending    Pending
	last       *goruntime.Goroutine
	labels     []string // of Edges
}

// Label says which part of the root holds a reference.
func (r *Entry) Label(re *Edge) string { return r.labels[re.label] }

// labelled returns the number of a label. References mostly have the label of the one before, or
// the label that came after it the last time.
func (r *Entry) labelled(label string) uint32 {
	at := 0
	if n := len(r.Edges); n > 0 {
		at = int(r.Edges[n-1].label)
	}
	for i := at; i < min(at+2, len(r.labels)); i++ {
		if r.labels[i] == label {
			return uint32(i)
		}
	}
	for i := range min(maxLabels, len(r.labels)) {
		if r.labels[i] == label {
			return uint32(i)
		}
	}
	r.labels = append(r.labels, label)
	return uint32(len(r.labels) - 1)
}

// maxLabels bounds the search for a label; further ones may be listed more than once.
const maxLabels = 16

// add adds a reference. The meaning of id depends on from.
func (r *Entry) add(label string, e heaptype.Edge, from Origin, id uint64) {
	re := Edge{label: r.labelled(label), To: e.To, ID: id, layout: e.Layout, size: e.Size, From: from, inner: e.Inner}
	if from == FromVariable || from == FromStack {
		re.slack = e.Slack
	}
	if e.Type != nil {
		re.typ = e.Type.Index
	}
	if n := len(r.Edges); n == cap(r.Edges) {
		// append would make room for a quarter more, and copy each reference five times
		r.Edges = append(make([]Edge, 0, max(1, 2*n)), r.Edges...)
	}
	r.Edges = append(r.Edges, re)
}

// Reference returns the reference as it was added, without its number and confidence.
func (re *Edge) Reference(types *heaptype.Table) heaptype.Edge {
	return heaptype.Edge{To: re.To, Size: re.size, Type: types.At(re.typ), Layout: re.layout, Slack: re.slack, Inner: re.inner}
}

func (rs *set) entry(r Root, typ string) *Entry {
	e := rs.byKey[r]
	if e == nil {
		e = &Entry{Root: r, Type: typ}
		rs.byKey[r] = e
		rs.list = append(rs.list, e)
	}
	return e
}

// List lists everything that the marking started from, by name and type, in a fixed order. Callers
// must not change the entries.
//
//go:norace
func List(h *typedheap.Heap, program Program) []*Entry {
	if program.Listed != nil && *program.Listed != nil {
		return *program.Listed
	}
	rs := &set{heap: h, program: program, byKey: make(map[Root]*Entry), bases: make(map[base]*Root), byVar: make(map[variable]*Entry)}
	rs.globalRoots()
	for i := range h.Live.Stacks {
		rs.frameRoots(&h.Live.Stacks[i])
	}
	rs.timerRoots()
	rs.specialRoots()
	for _, r := range rs.list {
		r.Class = program.Order.class(&r.Root)
	}
	sort.SliceStable(rs.list, func(i, j int) bool { return rs.list[i].Compare(&rs.list[j].Root) < 0 })
	for _, r := range rs.list {
		byLabel := func(i, j int) bool { return r.Label(&r.Edges[i]) < r.Label(&r.Edges[j]) }
		if !sort.SliceIsSorted(r.Edges, byLabel) {
			sort.SliceStable(r.Edges, byLabel)
		}
	}
	if program.Listed != nil {
		*program.Listed = rs.list
	}
	return rs.list
}

//go:norace
func (rs *set) globalRoots() {
	h := rs.heap
	for i := range h.Segments.Statics {
		s := &h.Segments.Statics[i]
		r := Root{Kind: KindGlobal, Name: s.Name, Package: s.Package, File: s.File, Line: s.Line, OfTest: s.Package == "testing", Class: rs.program.classOf(s.Package), standard: rs.program.Modules.IsStandard(s.Package)}
		if s.Type == 0 && r.Class == ClassNamed {
			r.Class = ClassRuntime
		}
		if s.HeapType == nil {
			entry := rs.entry(r, "")
			h.Segments.References(s, func(at, to uint64) {
				entry.add("?", heaptype.Edge{To: to}, FromWord, at)
			})
			continue
		}
		entry := rs.entry(r, s.HeapType.Name)
		w := heaptype.Walker{Types: h.Types}
		w.Emit = func(e heaptype.Edge) {
			if h.Segments.LeadsOn(e.To) {
				entry.add(s.HeapType.Label(e.Ref), e, FromVariable, 0)
			}
		}
		w.Value(s.HeapType, s.Mem, 0)
		// References that the type hides from the walk are claimed after everything else.
		rest := r
		rest.Class = max(r.Class, ClassRuntime)
		var left *Entry
		h.Segments.References(s, func(at, to uint64) {
			if left == nil {
				left = &Entry{Root: rest, Type: s.HeapType.Name}
				rs.list = append(rs.list, left)
			}
			left.add("?", heaptype.Edge{To: to}, FromWord, at)
		})
	}
}

//go:norace
func (rs *set) frameRoots(st *live.Stack) {
	base := rs.base(st.Goroutine)
	rs.heap.Vars.Walk(st, func(v *stackvar.Var, label string, e heaptype.Edge) {
		entry := rs.byVar[variable{base, v}]
		if entry == nil {
			entry = rs.entry(rs.frameRoot(*base, v), v.Type)
			rs.byVar[variable{base, v}] = entry
		}
		entry.add(label, e, FromStack, st.Goroutine.Addr)
		if entry.last != st.Goroutine {
			entry.last = st.Goroutine
			entry.Goroutines++
		}
	})
}

// base returns what roots on a goroutine's stack have in common.
func (rs *set) base(g *goruntime.Goroutine) *Root {
	m := rs.heap.Model
	key := base{m.Entry(g), g.GoPC, g.IsCaller, rs.program.RunsTests != nil && rs.program.RunsTests(m, g)}
	known := rs.bases[key]
	if known == nil {
		known = &Root{Kind: KindFrame, Caller: key.caller, Test: key.test}
		if key.entry != nil {
			known.Goroutine = key.entry.Name
		}
		if f, file, line := m.Creator(g); f != nil {
			known.CreatedBy = f.Name
			known.CreatedAt = fmt.Sprintf("%s:%d", file, line)
		}
		rs.bases[key] = known
	}
	return known
}

// frameRoot makes r, which is of a goroutine, the root of a variable on its stack.
func (rs *set) frameRoot(r Root, v *stackvar.Var) Root {
	r.File, r.Line = v.File, v.Line
	if v.Func == nil {
		r.Name, r.Kind, r.Class = symbol.GoroutineRoot+r.Goroutine, KindOther, ClassTemporary
	} else {
		r.Func = v.Func.Name
		r.Package = symbol.Package(v.Owner)
		r.Name = v.Owner + "." + v.Name
		r.Class = rs.program.classOf(r.Package)
		if r.Class == ClassNamed && v.Name == symbol.Temporary {
			r.Class = ClassTemporary
		}
		r.OfTest = r.Test || r.Package == "testing" || strings.HasSuffix(v.File, "_test.go")
		if rs.program.classOf(v.Func.Package) == ClassTool {
			r.Class = ClassTool
		}
	}
	r.standard, r.inlined = rs.program.Modules.IsStandard(r.Package), v.Func != nil && v.Owner != v.Func.Name
	return r
}

// specialRoots lists finalizers, cleanups and weak handles, with what they keep. They are named by
// the type of the object that they hang on: "finalizer(*os.File)".
func (rs *set) specialRoots() {
	h := rs.heap
	for i, s := range h.Live.Specials {
		r := Root{Kind: KindFinalizer, Class: ClassSpecial}
		what := "finalizer"
		switch s.Kind {
		case goruntime.Cleanup:
			r.Kind, what = KindCleanup, "cleanup"
		case goruntime.WeakHandle:
			r.Kind, what, r.Class = KindOther, "weak", ClassWeak
		}
		of := specialType(h, s)
		r.Package = symbol.Package(strings.TrimLeft(of, "*[]"))
		if of == "" {
			of = "?"
		}
		r.Name = what + "(" + of + ")"
		queued := s.Kind == goruntime.Finalizer && s.Obj == goruntime.NoObject
		if s.Obj == goruntime.NoObject && (of == "?" || !queued) {
			r.Name = what + " queue"
		}
		if rs.program.isTool(r.Package) {
			r.Class = ClassTool
		}
		r.standard = rs.program.Modules.IsStandard(r.Package)
		entry := rs.entry(r, "")
		add := func(label string, e heaptype.Edge) {
			if e.To != 0 {
				entry.add(label, e, FromSpecial, uint64(i))
			}
		}
		arg := "$arg"
		if queued {
			arg = "" // the object itself
		}
		for _, held := range [...]struct {
			label string
			e     heaptype.Edge
		}{{"$fn", h.Types.FuncEdge(s.Fn)}, {"$call", h.Types.FuncEdge(s.Call)}, {arg, h.Types.Argument(s)}, {"$handle", heaptype.Edge{To: s.Handle}}} {
			add(held.label, held.e)
		}
		if h.Live.Finalize[s.Obj] {
			add("", heaptype.Edge{To: s.Span.Addr(s.Obj)})
			continue
		}
		if s.Kind != goruntime.Finalizer || s.Obj == goruntime.NoObject || s.Span.NoScan {
			continue
		}
		// A finalizer keeps what its object refers to, but not the object itself.
		if ty := h.Typings.Of(s.Obj); ty.Type != 0 {
			t := h.Types.At(ty.Type)
			w := heaptype.Walker{Types: h.Types}
			w.Emit = func(e heaptype.Edge) {
				if e.Ref == heaptype.RefInternal {
					return
				}
				add(heaptype.LabelOf(t, ty.Layout, e.Ref), e)
			}
			typing.WalkObject(&w, h.Typings.Of(s.Obj), s.Span, s.Obj)
		}
		mem := s.Span.Bytes(s.Obj)
		// What the type does not account for comes last; most of it is claimed by then.
		_ = h.Model.PointerWords(s.Span, s.Obj, func(w uint64) {
			add("~", heaptype.Edge{To: heaptype.Word(mem, w*8)})
		})
	}
}

func specialType(h *typedheap.Heap, s goruntime.Special) string {
	if s.ObjectType != 0 {
		if ptr := h.Model.Type(s.ObjectType); ptr != nil {
			if t := h.Types.ByDescriptor(ptr.Elem); t != nil {
				return "*" + t.Name
			}
		}
	}
	if s.Obj == goruntime.NoObject {
		return ""
	}
	if ty := h.Typings.Of(s.Obj); ty.Type != 0 {
		return typing.RefName(h.Types, ty)
	}
	return ""
}
