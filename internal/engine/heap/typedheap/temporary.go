package typedheap

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/stackvar"
	"github.com/leakgate/leakgate/internal/engine/heap/typing"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A temporary is a reference from a function's frame that belongs to no variable there: the
// argument of a deferred call, the copy of a slice that a loop goes over, an entry of a map that
// lies in the frame, or a variable that the compiler has under another name.
type temporary struct {
	to uint64
	fn *goruntime.Func
}

// root takes a reference from a stack.
func (o *offerer) root(v *stackvar.Var, e heaptype.Edge) {
	o.w.Emit(e)
	if e.Type == nil && v.Func != nil && (v.Name == symbol.Temporary || v.Name == symbol.Deferred) && !symbol.IsRuntime(v.Func.Package) {
		o.temporaries = append(o.temporaries, temporary{e.To, v.Func})
	}
}

// typeTemporaries types what temporaries refer to and nothing else has typed. As a rule that is
// what a variable of the function refers to, or has in it: if exactly one of the types near the
// function agrees with the object's size and pointers, it is of that type. A single pointer tells
// too little: the directory of a map is one, and agrees with the type of a variable that has the
// map. All are examined before any is changed.
func (in *inferrer) typeTemporaries() {
	known := make(map[*goruntime.Func]*nearTypes)
	first := in.offerers[0]
	for _, o := range in.offerers {
		for _, t := range o.temporaries {
			s, obj := in.m.Object(t.to)
			if s == nil || s.NoScan || s.ElemSize <= pointerSize || !s.HasSmallMask() || s.Addr(obj) != t.to || first.typings.Of(obj).Type != 0 || !in.out.Live.Marked.Has(obj) {
				continue
			}
			near := known[t.fn]
			if near == nil {
				near = &nearTypes{types: in.types, modules: in.modules, seen: make(map[nearType]bool)}
				near.function(t.fn, true)
				near.spread()
				known[t.fn] = near
			}
			if ty := near.find(s.ElemSize, s.SmallMask(obj)); ty.Type != 0 {
				first.deductions = addOffer(first.deductions, obj, ty)
			}
		}
	}
	for _, d := range first.deductions {
		first.set(d.obj, d.ty, in.m.SpanOf(d.obj))
	}
	first.deductions = first.deductions[:0]
	in.drain()
}

const pointerSize = 8

// nearTypes are the types of objects that the variables of a function lead to, that its code names,
// since it allocates such objects or works on such maps, and that it calls functions with. The
// compiler lists no variable whose value is an address in the frame, such as a small map.
type nearTypes struct {
	types   *heaptype.Table
	modules *symbol.Modules
	all     []nearType
	seen    map[nearType]bool
}

type nearType struct {
	t      *heaptype.Type
	layout heaptype.Layout
}

// Bounds on near types: how many references lead to them, and how many there are.
const (
	maxNear      = 4
	maxNearTypes = 1 << 10
)

func (n *nearTypes) add(f heaptype.Layout, t *heaptype.Type) {
	if c := (nearType{t, f}); !n.seen[c] && len(n.all) < maxNearTypes {
		n.seen[c] = true
		n.all = append(n.all, c)
	}
}

// function adds the types of a function, and if deep is set, of those that it calls or refers to.
func (n *nearTypes) function(f *goruntime.Func, deep bool) {
	bias := n.types.Model.Bias()
	for _, l := range n.types.Names.Locals(f.Entry - bias) {
		if t := n.types.ByID(l.Type); t != nil {
			if l.Deref {
				n.add(heaptype.LayoutValue, t)
			}
			n.types.Leads(t, n.add)
		}
	}
	n.types.Model.AddressesIn(f, func(_, addr uint64, _ bool) {
		if called := n.types.Model.FuncAt(addr); called != nil && called.Entry == addr {
			n.called(f, called, deep)
		} else if n.types.Model.IsDescriptor(addr) {
			if t := n.types.ByDescriptor(addr); t != nil {
				if !isHidden(t) {
					n.add(heaptype.LayoutValue, t)
				}
				n.types.Leads(t, n.add)
			}
		}
	})
}

// called adds the type of a function's receiver or first parameter, and what the compiler's wrapper
// of a deferred call calls.
func (n *nearTypes) called(f, called *goruntime.Func, deep bool) {
	if deep && strings.HasPrefix(called.Name, f.Name+".deferwrap") {
		n.function(called, false)
		return
	}
	param, _ := n.types.Names.Signature(called.Entry - n.types.Model.Bias())
	if t := n.types.ByID(param); t != nil && !symbol.IsRuntime(called.Package) {
		n.types.Leads(t, n.add)
	}
}

// isHidden reports whether a type is one that the compiler makes for a closure, whose objects are
// known by their function, or for the arguments of a call that takes any number.
func isHidden(t *heaptype.Type) bool {
	return strings.HasPrefix(strings.TrimPrefix(t.Name, "noalg."), "struct { F uintptr") || strings.HasPrefix(t.Name, "[") && strings.HasSuffix(t.Name, "]interface {}")
}

// spread adds the types that the program's own types lead to.
func (n *nearTypes) spread() {
	for from, step := 0, 1; step < maxNear; step++ {
		level := n.all[from:]
		from = len(n.all)
		for _, c := range level {
			if c.t.Kind != reflect.Struct || strings.Contains(c.t.Name, "[") || !n.modules.IsStandard(symbol.Package(c.t.Name)) {
				n.types.Leads(c.t, n.add)
			}
		}
	}
}

// find returns the typing of an object of that size and pointer mask, zero if there is not exactly
// one.
func (n *nearTypes) find(size, mask uint64) (ty typing.Typing) {
	for _, c := range n.all {
		switch {
		case !n.types.FitsObject(c.t, c.layout, size, mask):
		case ty.Type != 0 && ty.Type != c.t.Index:
			return typing.Typing{}
		case ty.Type == 0 || c.layout == heaptype.LayoutValue:
			ty = typing.Typing{Type: c.t.Index, Layout: c.layout, Grounds: typing.Grounds{Confidence: heaptype.FromInterior, Full: true}}
		}
	}
	return ty
}
