package heapgraph

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// temporary names stack slots that belong to no variable: the compiler's own copies, arguments of
// calls under way, registers.
const temporary = "$tmp"

// A frameVar is a live variable of a frame, or a part of one.
type frameVar struct {
	fn    *goruntime.Func // nil for the goroutine's own records
	owner string          // the function that declares it: fn's name, or an inlined one's
	name  string
	label string // which part of it
	typ   string // the variable's type
	file  string
	line  int
}

// activeVar is a variable that has a place in a frame at a given pc.
type activeVar struct {
	debuginfo.Local
	place debuginfo.Place
	typ   *Type
}

// maxFollow bounds how far references from the stack into the same stack are followed.
const maxFollow = 16

// stackWalk names the live words of one stack.
type stackWalk struct {
	g     *Graph
	st    *stack
	frame *goruntime.Frame // the one being walked
	live  map[uint64]*goruntime.Slot
	rest  bool            // only slots that nothing explains yet are looked at
	used  map[uint64]bool // addresses of slots that a variable explains
	seen  map[uint64]bool // stack objects walked, by address and form
	// typeWord is the first word of the interface variable whose second is being walked, if it is in the frame, too.
	typeWord uint64
	visit    func(frameVar, edge)
}

// walkStack calls visit for each reference out of a goroutine's stack, with the variable that holds
// it: frames from the innermost out, their variables by name, what belongs to no variable last.
func (g *Graph) walkStack(st *stack, visit func(frameVar, edge)) {
	w := &stackWalk{
		g: g, st: st, visit: visit,
		live: make(map[uint64]*goruntime.Slot, len(st.slots)),
		used: make(map[uint64]bool), seen: make(map[uint64]bool),
	}
	var frames []*goruntime.Frame
	known := make(map[*goruntime.Frame]bool)
	for k := range st.slots {
		s := &st.slots[k]
		w.live[s.Addr] = s
		if s.Frame != nil && !known[s.Frame] {
			known[s.Frame] = true
			frames = append(frames, s.Frame)
		}
	}
	sort.Slice(frames, func(i, j int) bool { return frames[i].SP < frames[j].SP })
	for _, w.frame = range frames {
		w.variables(g.activeVars(w.frame, false))
	}
	// A register range of a variable ends behind the call that destroys the register, and only there
	// begins the range of the copy in the frame, which is what the collector follows during the call.
	w.rest = true
	open := w.unexplained()
	for _, w.frame = range frames {
		if open[w.frame] && !w.frame.Async {
			w.variables(g.activeVars(w.frame, true))
		}
	}
	w.rest = false
	w.waiting()
	w.deferred()
	for k := range st.slots {
		s := &st.slots[k]
		if s.OnStack || w.used[s.Addr] {
			continue
		}
		e := edge{to: s.Value}
		if s.Record {
			if e.typ = g.types.named("runtime._defer"); e.typ != nil {
				e.form, e.rank = formOne, rankDynamic
			}
		}
		visit(temporaryOf(s), e)
	}
}

// unexplained returns the frames with live slots that no variable explains.
func (w *stackWalk) unexplained() map[*goruntime.Frame]bool {
	frames := make(map[*goruntime.Frame]bool)
	for k := range w.st.slots {
		if s := &w.st.slots[k]; s.Frame != nil && !s.OnStack && !w.used[s.Addr] {
			frames[s.Frame] = true
		}
	}
	return frames
}

// activeVars lists the variables that have a place at the frame's pc, by name; for frames in a call
// that is the place during the call, or the one after it.
func (g *Graph) activeVars(f *goruntime.Frame, after bool) []activeVar {
	pc := f.ContPC
	if pc == 0 {
		return nil
	}
	if pc > f.Func.Entry && !f.Async && !after {
		pc-- // a return address: the variables at the call
	}
	if vars, ok := g.vars[pc]; ok {
		return vars
	}
	link := pc - g.m.Bias()
	var vars []activeVar
	for _, l := range g.names.Locals(f.Func.Entry - g.m.Bias()) {
		t := g.types.byID(l.Type)
		if t == nil || hasPrefix(l.Name, ".") {
			continue
		}
		for _, p := range l.Ranges {
			if (p.Low == 0 && p.High == 0) || (p.Low <= link && link < p.High) {
				vars = append(vars, activeVar{l, p, t})
			}
		}
	}
	sort.SliceStable(vars, func(i, j int) bool {
		a, b := &vars[i], &vars[j]
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.place.VarOffset < b.place.VarOffset
	})
	g.vars[pc] = vars
	return vars
}

// variables walks the variables of a frame, which are sorted by name, and the pieces of one by offset.
func (w *stackWalk) variables(vars []activeVar) {
	for i := range vars {
		w.typeWord = 0
		if i > 0 && vars[i].place.VarOffset == 8 && vars[i-1].place.VarOffset == 0 && vars[i-1].Name == vars[i].Name && vars[i-1].Line == vars[i].Line {
			w.typeWord = word(w.st.g.Stack(w.frame.FP+uint64(vars[i-1].place.CFAOffset)), 0)
		}
		w.variable(vars[i])
	}
}

func (w *stackWalk) variable(v activeVar) {
	t := v.typ
	if t.shaped {
		t = w.bound(t)
	}
	fv := frameVar{fn: w.frame.Func, owner: v.Inline, name: v.Name, typ: t.Name, file: v.File, line: v.Line}
	if fv.owner == "" {
		fv.owner = w.frame.Func.Name
	}
	addr := w.frame.FP + uint64(v.place.CFAOffset)
	if v.Deref {
		// The slot points to the variable, which escaped to the heap.
		if s := w.take(addr); s != nil {
			w.reference(fv, edge{to: s.Value, typ: t, form: formOne, rank: rankStatic}, 0)
		}
		return
	}
	if v.place.VarOffset == 0 && uint64(v.place.Size) >= t.Size {
		w.memory(fv, t, formOne, addr, t.Size, 0)
		return
	}
	// A piece of a variable whose rest is in registers: each word of it says what it is.
	for i := range t.ops {
		o := &t.ops[i]
		at := o.off
		if o.kind == opIface || o.kind == opEface || o.kind == opReflect || o.kind == opPooled {
			at += 8
		}
		if o.kind == opArray || at < uint64(v.place.VarOffset) || at >= uint64(v.place.VarOffset+v.place.Size) {
			continue
		}
		s := w.take(addr + at - uint64(v.place.VarOffset))
		if s == nil {
			continue
		}
		w.word(fv, t, o, s)
	}
}

// bound returns what a shape stands for in the frame, whose dictionary is among its live words if it is still needed.
func (w *stackWalk) bound(t *Type) *Type {
	_, types := w.g.names.Signature(w.frame.Func.Entry - w.g.m.Bias())
	for i := range w.st.dicts {
		if s := &w.st.dicts[i]; s.Frame == w.frame {
			if actual := w.g.types.standsFor(t.origin, types, s.Value); actual != nil {
				return actual
			}
		}
	}
	return t
}

// word reports a slot that holds the pointer word of one reference of a variable.
func (w *stackWalk) word(fv frameVar, t *Type, o *op, s *goruntime.Slot) {
	e := edge{to: s.Value}
	switch o.kind {
	case opIface, opEface:
		if w.typeWord != 0 {
			sub := walker{g: w.g, emit: func(found edge) { e = found }}
			sub.iface(o.kind, o.ord, w.typeWord, s.Value)
		}
	case opReflect, opPooled, opUnsafe:
	default:
		var one [8]byte
		binary.LittleEndian.PutUint64(one[:], s.Value)
		part := *o
		part.off = 0
		sub := walker{g: w.g, emit: func(found edge) { e = found }}
		sub.op(&part, one[:], 0)
	}
	e.ord = o.ord
	fv.label = t.label(o.ord)
	w.reference(fv, e, 0)
}

// take claims the live slot at an address of the stack.
//
//go:noinline
func (w *stackWalk) take(addr uint64) *goruntime.Slot {
	s := w.live[addr]
	if s != nil && w.rest && w.used[addr] {
		return nil
	}
	if s != nil {
		w.used[addr] = true
	}
	return s
}

// memory walks typed memory of the stack; words that are not live read as zero.
func (w *stackWalk) memory(fv frameVar, t *Type, f form, addr, size uint64, depth int) {
	raw := w.st.g.Stack(addr)
	if raw == nil || !t.HasPointers() {
		return
	}
	if uint64(len(raw)) > size {
		raw = raw[:size]
	}
	mem := slices.Clone(raw)
	any := false
	w.mask(t, addr, mem, 0, &any)
	for off := t.Size; f == formArray && off > 0 && off < uint64(len(mem)); off += t.Size {
		w.mask(t, addr, mem, off, &any)
	}
	if !any {
		return
	}
	sub := walker{g: w.g, emit: func(e edge) {
		named := fv
		if l := labelOf(t, f, e.ord); l != "" && e.ord != ordInternal {
			named.label = joinLabel(fv.label, l)
		}
		w.reference(named, e, depth)
	}}
	sub.object(t, f, mem, addr)
}

// mask zeroes the pointer words of a value that are not live, and claims those that are.
func (w *stackWalk) mask(t *Type, addr uint64, mem []byte, off uint64, any *bool) {
	zero := func(at uint64) {
		if at+8 > uint64(len(mem)) {
			return
		}
		if w.take(addr+at) != nil {
			*any = true
			return
		}
		clear(mem[at : at+8])
	}
	for i := range t.ops {
		o := &t.ops[i]
		at := off + o.off
		switch o.kind {
		case opArray:
			for k := uint64(0); k < o.n && at+k*o.typ.Size < uint64(len(mem)); k++ {
				w.mask(o.typ, addr, mem, at+k*o.typ.Size, any)
			}
		case opIface, opEface, opReflect, opPooled:
			// The type word is no heap pointer as a rule, so only the data word decides.
			zero(at + 8)
		default:
			zero(at)
		}
	}
}

// reference reports a reference of a variable, and follows it where it stays on the stack.
func (w *stackWalk) reference(fv frameVar, e edge, depth int) {
	raw := w.st.g.Stack(e.to)
	if raw == nil {
		w.visit(fv, e)
		return
	}
	key := e.to ^ uint64(e.form)<<56
	if e.typ == nil || depth >= maxFollow || w.seen[key] {
		return
	}
	w.seen[key] = true
	switch e.form {
	case formOne, formBoxed, formClosure:
		w.memory(fv, e.typ, e.form, e.to, e.typ.Size, depth+1)
	case formArray:
		if e.size == 0 {
			e.size = w.extent(e.to, e.typ.Size)
		}
		w.memory(fv, e.typ, e.form, e.to, e.size, depth+1)
	case formMap:
		// A small map's header on the stack; its one group may be there too or on the heap.
		if h := w.g.types.named("internal/runtime/maps.Map"); h != nil {
			w.mapOnStack(fv, e.typ, e.to, h.Size, depth+1)
		}
	}
}

// extent is how much of a stack object lies behind the element at an address: what is left of a slice in a frame may be
// its pointer only.
func (w *stackWalk) extent(addr, elem uint64) uint64 {
	for off := uint64(0); off < elem; off += 8 {
		if s := w.live[addr+off]; s != nil && s.End > addr {
			return s.End - addr
		}
	}
	return 0
}

func (w *stackWalk) mapOnStack(fv frameVar, t *Type, addr, size uint64, depth int) {
	header := w.st.g.Stack(addr)
	if uint64(len(header)) < size {
		return
	}
	w.take(addr + w.g.offsets.mapDirPtr)
	sub := walker{g: w.g, emit: func(e edge) {
		named := fv
		if e.ord != ordInternal {
			named.label = joinLabel(fv.label, labelOf(t, formMap, e.ord))
		}
		w.reference(named, e, depth)
	}}
	dir := word(header, w.g.offsets.mapDirPtr)
	if group := w.st.g.Stack(dir); group != nil {
		l := w.g.types.mapLayout(t)
		if l.group != 0 && uint64(len(group)) >= l.group {
			for i := uint64(0); i < groupSlots; i++ {
				if group[i]&0x80 == 0 {
					for _, part := range []struct {
						t   *Type
						off uint64
						ord uint32
					}{{l.key, l.keys + i*l.keyStride, 0}, {l.val, l.vals + i*l.valStride, l.key.ords}} {
						var any bool
						mem := slices.Clone(group[part.off : part.off+part.t.Size])
						w.mask(part.t, dir+part.off, mem, 0, &any)
						if any {
							sub.value(part.t, mem, part.ord)
						}
					}
				}
			}
		}
		return
	}
	sub.object(t, formMap, header[:size], addr)
}

// joinLabel appends a label to the path of its holder.
//
//go:noinline
func joinLabel(parent, label string) string {
	if parent == "" || (label != "" && label[0] == '[') {
		return parent + label
	}
	if label == "" {
		return parent
	}
	return parent + "." + label
}
