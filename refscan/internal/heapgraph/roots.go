package heapgraph

import (
	"fmt"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// Kind is a sort of root.
type Kind uint8

// The kinds, in the order in which they win ties.
const (
	KindGlobal Kind = iota
	KindFrame
	KindFinalizer
	KindCleanup
	KindOther
)

// class says when a root has its turn. A root of a later class gets only what the earlier left over.
type class uint8

const (
	classNamed     class = iota // variables of packages and frames
	classTemporary              // stack slots without a name
	classSpecial                // finalizers and cleanups: an object that they hang on may have holders too
	classRuntime                // the runtime's own variables and frames, compiler-made data
	classTool                   // this tool's own: not reported
	classRest
)

// Root identifies a root. Roots that agree in everything are one.
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
	class     class
	std       bool // of the standard library: the program's own roots win ties
	inlined   bool // a variable of an inlined function: those of the frame's own function win ties
}

func (a *Root) compare(b *Root) int {
	if c := a.rank() - b.rank(); c != 0 {
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

// rank orders roots before their names do.
func (r *Root) rank() int {
	return int(r.class)<<16 | bit(r.std)<<15 | int(r.Kind)<<1 | bit(r.inlined)
}

// rest orders roots that agree in their names and places.
func (r *Root) rest() int { return bit(r.Test)<<1 | bit(r.Caller) }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// toolPrefix and toolPackages name the packages whose memory is the tool's own.
const toolPrefix = "github.com/leakgate/leakgate/"

var toolPackages = []string{"leakcheck", "refscan", "golden", "stackprof", "internal/verdict"}

func isTool(pkg string) bool {
	rest, ok := strings.CutPrefix(pkg, toolPrefix)
	if !ok {
		return false
	}
	for _, p := range toolPackages {
		if rest == p || hasPrefix(rest, p+"/") {
			return true
		}
	}
	return false
}

func isRuntime(pkg string) bool {
	return pkg == "runtime" || hasPrefix(pkg, "internal/runtime/") || hasPrefix(pkg, "runtime/internal/") || pkg == ""
}

// PackageOf returns the import path of a symbol such as "example.com/app.(*Cache[int]).Get".
func PackageOf(symbol string) string {
	head := symbol
	if i := strings.IndexAny(head, "[("); i >= 0 {
		head = head[:i]
	}
	slash := strings.LastIndexByte(head, '/') + 1
	dot := strings.IndexByte(head[slash:], '.')
	if dot < 0 {
		return ""
	}
	// Dots in the last element of an import path are escaped in symbols.
	return strings.ReplaceAll(head[:slash+dot], "%2e", ".")
}

func classOf(pkg string) class {
	switch {
	case isTool(pkg):
		return classTool
	case isRuntime(pkg):
		return classRuntime
	}
	return classNamed
}

// isStd reports whether a package belongs to the standard library: import paths of other modules have
// a dot in their first element, or they are the main module's.
func (g *Graph) isStd(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	if strings.Contains(first, ".") || first == "main" {
		return false
	}
	return g.mainModule == "" || (pkg != g.mainModule && !hasPrefix(pkg, g.mainModule+"/"))
}

// A rootEdge is a reference that a root holds, and which part of the root holds it.
type rootEdge struct {
	label string
	to    uint64
	id    uint64 // see originKind
	typ   int32  // what the reference says of its target, as in edge
	form  form
	size  uint8 // 16 stands for more, too
	from  originKind
}

// An originKind tells apart where references of one root lie.
type originKind uint8

const (
	fromVariable originKind = iota // typed memory of a package variable
	fromWord                       // id is the address of a word that only a mask describes
	fromStack                      // id is the address of the goroutine
	fromSpecial                    // id is an index of Graph.special
)

// rootSet collects roots with their references.
type rootSet struct {
	byKey map[Root]*rootEntry
	list  []*rootEntry
}

type rootEntry struct {
	Root
	typ        string
	edges      []rootEdge
	goroutines int64 // that have it
	last       *goruntime.Goroutine
}

// add adds a reference. Its id depends on where it comes from.
//
//go:noinline
func (r *rootEntry) add(label string, e edge, from originKind, id uint64) {
	re := rootEdge{label: label, to: e.to, id: id, form: e.form, size: uint8(min(e.size, 16)), from: from}
	if e.typ != nil {
		re.typ = e.typ.index
	}
	r.edges = append(r.edges, re)
}

// rootEdge is the reference as it was added, but for its place and rank.
func (g *Graph) rootEdge(re *rootEdge) edge {
	return edge{to: re.to, size: uint64(re.size), typ: g.types.at(re.typ), form: re.form}
}

//go:noinline
func (rs *rootSet) entry(r Root, typ string) *rootEntry {
	e := rs.byKey[r]
	if e == nil {
		e = &rootEntry{Root: r, typ: typ}
		rs.byKey[r] = e
		rs.list = append(rs.list, e)
	}
	return e
}

// roots lists everything that the marking started from, by name and type, in a fixed order.
func (g *Graph) roots() []*rootEntry {
	rs := &rootSet{byKey: make(map[Root]*rootEntry)}
	g.globalRoots(rs)
	for i := range g.stacks {
		g.frameRoots(rs, &g.stacks[i])
	}
	g.specialRoots(rs)
	sort.SliceStable(rs.list, func(i, j int) bool { return rs.list[i].compare(&rs.list[j].Root) < 0 })
	for _, r := range rs.list {
		sort.SliceStable(r.edges, func(i, j int) bool { return r.edges[i].label < r.edges[j].label })
	}
	return rs.list
}

func (g *Graph) globalRoots(rs *rootSet) {
	for i := range g.statics {
		s := &g.statics[i]
		if s.idle {
			continue
		}
		r := Root{Kind: KindGlobal, Name: s.Name, Package: s.Package, File: s.File, Line: s.Line, class: classOf(s.Package), std: g.isStd(s.Package)}
		if s.Type == 0 && r.class == classNamed {
			r.class = classRuntime
		}
		if s.typ == nil {
			entry := rs.entry(r, "")
			g.maskedEdges(s, func(at, to uint64) {
				entry.add("?", edge{to: to}, fromWord, at)
			})
			continue
		}
		entry := rs.entry(r, s.typ.Name)
		w := walker{g: g}
		w.emit = func(e edge) {
			if g.leadsOn(e.to) {
				entry.add(s.typ.label(e.ord), e, fromVariable, 0)
			}
		}
		w.value(s.typ, s.mem, 0)
		// What the type hides from the walk has its turn when everything else is charged.
		rest := r
		rest.class = max(r.class, classRuntime)
		var left *rootEntry
		g.maskedEdges(s, func(at, to uint64) {
			if left == nil {
				left = &rootEntry{Root: rest, typ: s.typ.Name}
				rs.list = append(rs.list, left)
			}
			left.add("?", edge{to: to}, fromWord, at)
		})
	}
}

// maskedEdges finds the references of memory that the collector's mask shows and that lead on.
func (g *Graph) maskedEdges(s *static, visit func(at, to uint64)) {
	for at, to := range s.pointers {
		if g.leadsOn(to) {
			visit(at, to)
		}
	}
}

func (g *Graph) frameRoots(rs *rootSet, st *stack) {
	base := Root{Kind: KindFrame, Caller: st.g.IsCaller}
	if f := g.m.Entry(st.g); f != nil {
		base.Goroutine = f.Name
	}
	if f, file, line := g.m.Creator(st.g); f != nil {
		base.CreatedBy = f.Name
		base.CreatedAt = fmt.Sprintf("%s:%d", file, line)
	}
	base.Test = st.test
	g.walkStack(st, func(v frameVar, e edge) {
		r := base
		r.File, r.Line = v.file, v.line
		if v.fn == nil {
			r.Name, r.Kind, r.class = "goroutine "+base.Goroutine, KindOther, classTemporary
		} else {
			r.Func = v.fn.Name
			r.Package = PackageOf(v.owner)
			r.Name = v.owner + "." + v.name
			r.class = classOf(r.Package)
			if r.class == classNamed && v.name == temporary {
				r.class = classTemporary
			}
			if classOf(PackageOf(v.fn.Name)) == classTool {
				r.class = classTool
			}
		}
		r.std, r.inlined = g.isStd(r.Package), v.fn != nil && v.owner != v.fn.Name
		entry := rs.entry(r, v.typ)
		entry.add(v.label, e, fromStack, st.g.Addr)
		if entry.last != st.g {
			entry.last = st.g
			entry.goroutines++
		}
	})
}

// specialRoots lists what finalizers and cleanups keep. They are named by the type of the object that
// they hang on: "finalizer(*os.File)".
func (g *Graph) specialRoots(rs *rootSet) {
	for i, s := range g.special {
		r := Root{Kind: KindFinalizer, class: classSpecial}
		what := "finalizer"
		switch s.Kind {
		case goruntime.Cleanup:
			r.Kind, what = KindCleanup, "cleanup"
		case goruntime.WeakHandle:
			r.Kind, what, r.class = KindOther, "weak", classRuntime
		}
		of := g.specialType(s)
		r.Package = PackageOf(strings.TrimLeft(of, "*[]"))
		if of == "" {
			of = "?"
		}
		r.Name = what + "(" + of + ")"
		if s.Obj == goruntime.NoObject {
			r.Name = what + " queue"
		}
		if isTool(r.Package) {
			r.class = classTool
		}
		r.std = g.isStd(r.Package)
		entry := rs.entry(r, "")
		add := func(label string, e edge) {
			if e.to != 0 {
				entry.add(label, e, fromSpecial, uint64(i))
			}
		}
		for _, held := range [...]struct {
			label string
			e     edge
		}{{"$fn", g.funcEdge(s.Fn)}, {"$call", g.funcEdge(s.Call)}, {"$arg", g.argument(s)}, {"$handle", edge{to: s.Handle}}} {
			add(held.label, held.e)
		}
		if s.Kind != goruntime.Finalizer || s.Obj == goruntime.NoObject || s.Span.NoScan {
			continue
		}
		// What the object refers to is kept, the object itself is not.
		if ty := g.typing.of(s.Obj); ty.typ != 0 {
			t := g.types.at(ty.typ)
			w := walker{g: g}
			w.emit = func(e edge) {
				if e.ord == ordInternal {
					return
				}
				add(labelOf(t, ty.form, e.ord), e)
			}
			g.walkObject(&w, s.Obj)
		}
		mem := s.Span.Bytes(s.Obj)
		// What the type does not account for comes last; most of it is claimed by then.
		_ = g.m.PointerWords(s.Span, s.Obj, func(w uint64) {
			add("~", edge{to: word(mem, w*8)})
		})
	}
}

// argument is the reference to the argument of a queued finalizer or of a cleanup, which keeps a copy of it
// on the heap. Its type is that of the function's parameter (go1.26 and go1.27 runtime/mcleanup.go, AddCleanup).
func (g *Graph) argument(s goruntime.Special) edge {
	e := edge{to: s.Arg}
	if s.Kind != goruntime.Cleanup {
		return e
	}
	param, dict := g.names.Signature(g.closureEntry(s.Fn) - g.m.Bias())
	if e.typ = g.types.standsFor(param, dict, g.dictionary(s.Fn)); e.typ == nil {
		e.typ = g.types.byID(param)
	}
	if e.typ != nil {
		e.form, e.rank = formOne, rankDynamic
	}
	return e
}

func (g *Graph) specialType(s goruntime.Special) string {
	if s.ObjectType != 0 {
		if ptr := g.m.Type(s.ObjectType); ptr != nil {
			if t := g.types.byRuntimeType(ptr.Elem); t != nil {
				return "*" + t.Name
			}
		}
	}
	if s.Obj == goruntime.NoObject {
		return ""
	}
	if ty := g.typing.of(s.Obj); ty.typ != 0 {
		return g.types.refName(ty)
	}
	return ""
}

func (g *Graph) funcEdge(fn uint64) edge {
	e := edge{to: fn}
	if fn == 0 {
		return e
	}
	if t := g.closureAt(fn); t != nil {
		e.typ, e.form, e.rank = t, formClosure, rankDynamic
	}
	return e
}
