// Package stackvar finds the variables that hold the references of a goroutine's stack.
package stackvar

import (
	"encoding/binary"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/live"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// A Var is a variable of a function's frames. A Finder has one Var for each.
type Var struct {
	Func  *goruntime.Func // nil for the goroutine's own records
	Owner string          // the function that declares it: Func's name, or an inlined one's
	Name  string
	Type  string // the variable's type
	File  string
	Line  int
}

// activeVar is a variable that has a place in a frame at a given pc.
type activeVar struct {
	debuginfo.Local
	place debuginfo.Place
	typ   *heaptype.Type
	named *Var
}

// maxFollow bounds how far references from the stack into the same stack are followed.
const maxFollow = 16

// A Finder finds the variables of frames, and remembers them by program counter. It is not safe
// for concurrent use.
type Finder struct {
	types *heaptype.Table
	byPC  map[uint64][]activeVar
	vars  map[Var]*Var
	walk  stackWalk // its maps and lists are used again
}

// New returns a finder.
func New(types *heaptype.Table) *Finder {
	return &Finder{types: types, byPC: make(map[uint64][]activeVar), vars: make(map[Var]*Var)}
}

// intern returns intern one Var that is equal to v.
func (fd *Finder) intern(v Var) *Var {
	known := fd.vars[v]
	if known == nil {
		known = &v
		fd.vars[v] = known
	}
	return known
}

// stackWalk names the live words of one stack.
type stackWalk struct {
	vars   *Finder
	types  *heaptype.Table
	st     *live.Stack
	frame  *goruntime.Frame   // the one being walked
	frames []*goruntime.Frame // those with live words
	open   map[*goruntime.Frame]bool
	live   map[uint64]*goruntime.Slot
	rest   bool            // only slots that no variable explains yet are looked at
	used   map[uint64]bool // addresses of slots that a variable explains
	seen   map[uint64]bool // stack objects walked, by address and layout
	pieces []activeVar     // of the variable being walked
	typed  []*typedMemory  // by depth
	// addresses of channels that the goroutine is blocked at. Its own frames may have them in no
	// variable any more: select keeps a list of its cases
	awaited map[uint64]bool
	visit   func(v *Var, label string, e heaptype.Edge)
}

func (w *stackWalk) begin(fd *Finder, st *live.Stack) {
	if w.live == nil {
		*w = stackWalk{
			vars: fd, types: fd.types, open: make(map[*goruntime.Frame]bool), live: make(map[uint64]*goruntime.Slot),
			used: make(map[uint64]bool), seen: make(map[uint64]bool), awaited: make(map[uint64]bool),
		}
	}
	w.st, w.rest, w.frames = st, false, w.frames[:0]
	clear(w.open)
	clear(w.live)
	clear(w.used)
	clear(w.seen)
	clear(w.awaited)
	for k := range st.Slots {
		s := &st.Slots[k]
		w.live[s.Addr] = s
		if s.Frame != nil && !w.open[s.Frame] {
			w.open[s.Frame] = true
			w.frames = append(w.frames, s.Frame)
		}
	}
	inward := func(i, j int) bool { return w.frames[i].SP < w.frames[j].SP }
	if !sort.SliceIsSorted(w.frames, inward) {
		sort.Slice(w.frames, inward)
	}
}

// Walk calls visit for each reference out of a goroutine's stack, with the variable that holds it
// and which part of the variable that is: frames from the innermost out, their variables by name,
// what belongs to no variable last.
//
//go:norace
func (fd *Finder) Walk(st *live.Stack, visit func(v *Var, label string, e heaptype.Edge)) {
	w := &fd.walk
	w.begin(fd, st)
	w.visit = visit
	for _, w.frame = range w.frames {
		w.variables(fd.activeVars(w.frame, false))
	}
	// The range of a variable in a register ends behind the call that destroys the register. Only
	// there begins the range of the copy in the frame, though the collector follows the copy
	// during the call.
	w.rest = true
	w.unexplained()
	for _, w.frame = range w.frames {
		if w.open[w.frame] && !w.frame.Async {
			w.variables(fd.activeVars(w.frame, true))
		}
	}
	w.rest = false
	w.waiting()
	w.deferred()
	for k := range st.Slots {
		s := &st.Slots[k]
		if s.OnStack || w.used[s.Addr] {
			continue
		}
		e := heaptype.Edge{To: s.Value}
		if w.awaited[s.Value] {
			if c, ok := fd.types.ChannelEdge(s.Value); ok {
				e = c
			}
		} else if s.Record {
			if e.Type = fd.types.Named("runtime._defer"); e.Type != nil {
				e.Layout, e.Confidence = heaptype.LayoutValue, heaptype.FromDynamic
			}
		}
		visit(fd.intern(temporaryOf(s)), "", e)
	}
}

// unexplained finds the frames with live slots that no variable explains.
func (w *stackWalk) unexplained() {
	clear(w.open)
	for k := range w.st.Slots {
		if s := &w.st.Slots[k]; s.Frame != nil && !s.OnStack && !w.used[s.Addr] {
			w.open[s.Frame] = true
		}
	}
}

// activeVars lists the variables that have a place at the frame's pc, by name. For frames in a
// call it is the place during the call, or if after is set, the place after it.
//
//go:norace
func (fd *Finder) activeVars(f *goruntime.Frame, after bool) []activeVar {
	pc := f.ContPC
	if pc == 0 {
		return nil
	}
	if pc > f.Func.Entry && !f.Async && !after {
		pc-- // a return address: the variables at the call
	}
	if vars, ok := fd.byPC[pc]; ok {
		return vars
	}
	link := pc - fd.types.Model.Bias()
	var vars []activeVar
	for _, l := range fd.types.Names.Locals(f.Func.Entry - fd.types.Model.Bias()) {
		t := fd.types.ByID(l.Type)
		if t == nil || strings.HasPrefix(l.Name, ".") {
			continue
		}
		for _, p := range l.Ranges {
			if (p.Low == 0 && p.High == 0) || (p.Low <= link && link < p.High) {
				vars = append(vars, activeVar{l, p, t, fd.intern(varOf(f.Func, &l, t))})
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
	fd.byPC[pc] = vars
	return vars
}

func varOf(f *goruntime.Func, l *debuginfo.Local, t *heaptype.Type) Var {
	v := Var{Func: f, Owner: l.Inline, Name: l.Name, Type: t.Name, File: l.File, Line: l.Line}
	if v.Owner == "" {
		v.Owner = f.Name
	}
	return v
}

// variables walks the variables of a frame, which are sorted by name, and the pieces of one by
// offset.
//
//go:norace
func (w *stackWalk) variables(vars []activeVar) {
	rest := w.rest
	for len(vars) > 0 {
		n := 1
		for n < len(vars) && vars[n].isOf(&vars[0]) {
			n++
		}
		w.pieces = vars[:n]
		// Of "s", the compiler may make another variable, "s.ptr" (go1.27): "s" goes first.
		w.rest = rest || strings.Contains(vars[0].Name, ".")
		for i := range w.pieces {
			w.variable(&w.pieces[i])
		}
		vars = vars[n:]
	}
	w.rest = rest
}

// isOf reports whether two places are those of one variable, as far as names tell.
func (v *activeVar) isOf(other *activeVar) bool {
	return v.Name == other.Name && v.Line == other.Line && v.Inline == other.Inline && v.typ == other.typ
}

// piece returns the word at an offset in the variable being walked. ok is false if the frame does
// not hold that word, or has several places for it: a function that is inlined twice has its
// variables twice.
func (w *stackWalk) piece(off uint64) (word uint64, ok bool) {
	for i := range w.pieces {
		p := &w.pieces[i].place
		if from := off - uint64(p.VarOffset); off >= uint64(p.VarOffset) && from+8 <= uint64(p.Size) {
			if ok {
				return 0, false
			}
			word, ok = heaptype.Word(w.st.Goroutine.Stack(w.frame.FP+uint64(p.CFAOffset)+from), 0), true
		}
	}
	return word, ok
}

//go:norace
func (w *stackWalk) variable(v *activeVar) {
	t, fv := v.typ, v.named
	if t.Shaped {
		t = w.bound(t)
		fv = w.vars.intern(varOf(w.frame.Func, &v.Local, t))
	}
	addr := w.frame.FP + uint64(v.place.CFAOffset)
	if v.Deref {
		// The slot points to the variable, which escaped to the heap.
		if s := w.take(addr); s != nil {
			w.reference(fv, "", heaptype.Edge{To: s.Value, Size: t.Size, Type: t, Layout: heaptype.LayoutValue, Confidence: heaptype.FromStatic}, 0)
		}
		return
	}
	if v.place.VarOffset == 0 && uint64(v.place.Size) >= t.Size {
		w.memory(fv, "", t, heaptype.LayoutValue, addr, t.Size, 0)
		return
	}
	// A part of a variable whose rest is in registers: the type tells what each word of it is.
	for i := range t.Ops {
		o := &t.Ops[i]
		at := o.Offset
		if o.Kind == heaptype.OpIface || o.Kind == heaptype.OpEface || o.Kind == heaptype.OpReflect || o.Kind == heaptype.OpPooled {
			at += 8
		}
		if o.Kind == heaptype.OpArray || at < uint64(v.place.VarOffset) || at >= uint64(v.place.VarOffset+v.place.Size) {
			continue
		}
		s := w.take(addr + at - uint64(v.place.VarOffset))
		if s == nil {
			continue
		}
		w.word(fv, t, o, s)
	}
}

// bound returns the type that a shape stands for in the frame. The frame's dictionary is among its
// live words if it is still needed.
func (w *stackWalk) bound(t *heaptype.Type) *heaptype.Type {
	_, types := w.types.Names.Signature(w.frame.Func.Entry - w.types.Model.Bias())
	for i := range w.st.Dictionaries {
		if s := &w.st.Dictionaries[i]; s.Frame == w.frame {
			if actual := w.types.StandsFor(t.Origin, types, s.Value); actual != nil {
				return actual
			}
		}
	}
	return t
}

// word reports a slot that holds the pointer word of one reference of a variable.
func (w *stackWalk) word(fv *Var, t *heaptype.Type, o *heaptype.Op, s *goruntime.Slot) {
	e := heaptype.Edge{To: s.Value}
	sub := heaptype.Walker{Types: w.types, Emit: func(found heaptype.Edge) { e = found }}
	switch o.Kind {
	case heaptype.OpIface, heaptype.OpEface:
		if typ, _ := w.piece(o.Offset); typ != 0 {
			sub.Interface(o.Kind, o.Ref, typ, s.Value)
		}
	case heaptype.OpReflect, heaptype.OpPooled, heaptype.OpUnsafe:
	default:
		// The length of a slice or string follows, and the capacity of a slice.
		mem := binary.LittleEndian.AppendUint64(nil, s.Value)
		for off := o.Offset + 8; off < min(o.Offset+24, t.Size); off += 8 {
			next, ok := w.piece(off)
			if !ok {
				break
			}
			mem = binary.LittleEndian.AppendUint64(mem, next)
		}
		if len(mem) == 16 { // a slice that nothing is appended to any more has no capacity
			mem = append(mem, mem[8:]...)
		}
		alone := *o
		alone.Offset = 0
		sub.Op(&alone, mem, 0)
	}
	e.Ref = o.Ref
	w.reference(fv, t.Label(o.Ref), e, 0)
}

// take claims the live slot at an address of the stack.
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
//
//go:norace
func (w *stackWalk) memory(fv *Var, label string, t *heaptype.Type, f heaptype.Layout, addr, size uint64, depth int) {
	raw := w.st.Goroutine.Stack(addr)
	if raw == nil || !t.HasPointers() {
		return
	}
	if uint64(len(raw)) > size {
		raw = raw[:size]
	}
	part := w.typedAt(depth, fv, label, t, f)
	part.mem = append(part.mem[:0], raw...)
	mem, any := part.mem, false
	w.mask(t, addr, mem, 0, &any)
	for off := t.Size; f == heaptype.LayoutArray && off > 0 && off < uint64(len(mem)); off += t.Size {
		w.mask(t, addr, mem, off, &any)
	}
	if !any {
		return
	}
	part.walker.Object(t, f, mem, addr)
}

// typedMemory is memory of the stack that is being walked, at some depth of references within the
// stack.
type typedMemory struct {
	walker heaptype.Walker
	of     *Var
	label  string
	t      *heaptype.Type
	layout heaptype.Layout
	mem    []byte // a copy, without the words that are not live
}

// typedAt returns the walk of memory at a depth, which nothing else uses at the moment.
//
//go:noinline
func (w *stackWalk) typedAt(depth int, of *Var, label string, t *heaptype.Type, layout heaptype.Layout) *typedMemory {
	for len(w.typed) <= depth {
		m, at := &typedMemory{}, len(w.typed)
		m.walker = heaptype.Walker{Types: w.types, Emit: func(e heaptype.Edge) {
			label := m.label
			if e.Ref != heaptype.RefInternal {
				if l := heaptype.LabelOf(m.t, m.layout, e.Ref); l != "" {
					label = heaptype.JoinLabel(label, l)
				}
			}
			w.reference(m.of, label, e, at)
		}}
		w.typed = append(w.typed, m)
	}
	m := w.typed[depth]
	m.of, m.label, m.t, m.layout = of, label, t, layout
	return m
}

// mask zeroes the pointer words of a value that are not live, and claims those that are.
func (w *stackWalk) mask(t *heaptype.Type, addr uint64, mem []byte, off uint64, any *bool) {
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
	for i := range t.Ops {
		o := &t.Ops[i]
		at := off + o.Offset
		switch o.Kind {
		case heaptype.OpArray:
			for k := uint64(0); k < o.Len && at+k*o.Type.Size < uint64(len(mem)); k++ {
				w.mask(o.Type, addr, mem, at+k*o.Type.Size, any)
			}
		case heaptype.OpIface, heaptype.OpEface, heaptype.OpReflect, heaptype.OpPooled:
			// The type word is no heap pointer as a rule, so only the data word decides.
			zero(at + 8)
		default:
			zero(at)
		}
	}
}

// reference reports a reference of a variable, and follows it where it stays on the stack.
//
//go:norace
func (w *stackWalk) reference(fv *Var, label string, e heaptype.Edge, depth int) {
	raw := w.st.Goroutine.Stack(e.To)
	if raw == nil {
		w.visit(fv, label, e)
		return
	}
	key := e.To ^ uint64(e.Layout)<<56
	if e.Type == nil || depth >= maxFollow || w.seen[key] {
		return
	}
	w.seen[key] = true
	switch e.Layout {
	case heaptype.LayoutValue, heaptype.LayoutBoxed, heaptype.LayoutClosure:
		w.memory(fv, label, e.Type, e.Layout, e.To, e.Type.Size, depth+1)
	case heaptype.LayoutArray:
		if e.Size == 0 {
			e.Size = w.extent(e.To, e.Type.Size)
		}
		w.memory(fv, label, e.Type, e.Layout, e.To, e.Size, depth+1)
	case heaptype.LayoutMap:
		// A small map's header on the stack; its one group may be there too or on the heap.
		if h := w.types.Named("internal/runtime/maps.Map"); h != nil {
			w.mapOnStack(fv, label, e.Type, e.To, h.Size, depth+1)
		}
	}
}

// extent is how many bytes of a stack object lie from an address on. A frame may hold the pointer
// of a slice without its length.
func (w *stackWalk) extent(addr, elem uint64) uint64 {
	for off := uint64(0); off < elem; off += 8 {
		if s := w.live[addr+off]; s != nil && s.End > addr {
			return s.End - addr
		}
	}
	return 0
}

func (w *stackWalk) mapOnStack(fv *Var, label string, t *heaptype.Type, addr, size uint64, depth int) {
	header := w.st.Goroutine.Stack(addr)
	if uint64(len(header)) < size {
		return
	}
	w.take(addr + uint64(w.types.Offsets.Map.Directory))
	sub := &w.typedAt(depth, fv, label, t, heaptype.LayoutMap).walker
	dir := heaptype.Word(header, uint64(w.types.Offsets.Map.Directory))
	if group := w.st.Goroutine.Stack(dir); group != nil {
		l := w.types.MapLayout(t)
		if l.Group != 0 && uint64(len(group)) >= l.Group {
			for i := uint64(0); i < heaptype.GroupSlots; i++ {
				if group[i]&0x80 == 0 {
					for _, part := range []struct {
						t   *heaptype.Type
						off uint64
						ref uint32
					}{{l.Key, l.KeyOffset + i*l.KeyStride, 0}, {l.Val, l.ValOffset + i*l.ValStride, l.Key.Refs}} {
						var any bool
						mem := slices.Clone(group[part.off : part.off+part.t.Size])
						w.mask(part.t, dir+part.off, mem, 0, &any)
						if any {
							sub.Value(part.t, mem, part.ref)
						}
					}
				}
			}
		}
		return
	}
	sub.Object(t, heaptype.LayoutMap, header[:size], addr)
}
