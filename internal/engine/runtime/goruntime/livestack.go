package goruntime

import (
	"errors"
	"fmt"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// A Slot is a word of a goroutine's stack (or of its saved registers) that the collector would
// follow.
type Slot struct {
	// the frame that holds it; nil for registers and records of the goroutine itself
	Frame        *Frame
	Addr         uint64
	Value        uint64
	End          uint64 // end of the stack object that holds it, 0 if none does
	Conservative bool   // may be no pointer at all
	OnStack      bool   // the value points into the same stack
	Deferred     bool   // the value is the closure of a deferred call of Frame
	Record       bool   // the value is the record of a deferred call (runtime._defer)
}

// stackScan is the state of one goroutine's scan (runtime/mgcstack.go, stackScanState).
type stackScan struct {
	m       *Model
	g       *Goroutine
	visit   func(Slot)
	objects []liveObject
	precise []uint64 // addresses into the stack, to follow
	guesses []uint64
	end     uint64            // of the stack object being scanned
	frames  map[uint64]*Frame // by stack pointer; filled if there are deferred calls
}

type liveObject struct {
	addr  uint64
	rec   *stackObject
	frame *Frame
	done  bool
}

var errStackObjects = errors.New("its stack objects do not fit on it")

// LiveSlots calls visit for every word of a goroutine's stack that keeps something alive. It finds
// them as the collector does: by stack maps, by stack objects that are pointed to, and
// conservatively if a goroutine was stopped between safe points (runtime/mgcmark.go, scanstack).
func (m *Model) LiveSlots(g *Goroutine, visit func(Slot)) error {
	s := &stackScan{m: m, g: g, visit: visit}
	if g.lost {
		s.registers(nil)
		s.conservative(nil, g.stackFrom, g.Hi)
		return nil
	}
	if g.ctxt != 0 {
		s.word(nil, g.ctxtAddr, g.ctxt, false)
	}
	if g.xregs != 0 {
		off, n := m.fields.Range("runtime.xRegState", "regs")
		b := m.Mem.Bytes(g.xregs+off, n)
		for i := uint64(0); i+8 <= uint64(len(b)); i += 8 {
			s.word(nil, g.xregs+off+i, u64(b, i), true)
		}
	}
	if g.defers != 0 {
		s.frames = make(map[uint64]*Frame)
	}
	conservative := g.interrupted
	var below *Frame
	innermost := true
	err := m.Frames(g, func(f *Frame) error {
		if s.frames != nil {
			s.frames[f.SP] = f
		}
		if innermost {
			s.registers(f)
			innermost = false
		}
		id := f.Func.id
		unmapped := m.stopped && hasNoMap(f.Func)
		if conservative || id == funcIDAsyncPreempt || id == funcIDDebugCallV2 {
			if f.Async = conservative; conservative && below != nil {
				below.Interrupted = f
			}
			below = f
			s.frameConservative(f)
			conservative = id == funcIDAsyncPreempt || id == funcIDDebugCallV2 || unmapped
			return nil
		}
		conservative = unmapped
		return s.frame(f)
	})
	if err != nil {
		return err
	}
	if err := s.deferred(); err != nil {
		return err
	}
	s.followObjects()
	return m.Mem.Err()
}

// word reports one slot and remembers pointers into the stack itself.
//
//go:norace
func (s *stackScan) word(f *Frame, addr, value uint64, conservative bool) {
	if value == 0 {
		return
	}
	onStack := s.g.stackFrom <= value && value < s.g.Hi
	if onStack {
		if conservative {
			s.guesses = append(s.guesses, value)
		} else {
			s.precise = append(s.precise, value)
		}
	}
	s.visit(Slot{Frame: f, Addr: addr, Value: value, End: s.end, Conservative: conservative, OnStack: onStack})
}

// registers reports the registers of the goroutine's thread. They have no address; each gets a
// number below all memory for one.
func (s *stackScan) registers(f *Frame) {
	for i, v := range s.g.registers {
		s.word(f, uint64(i+1)*8, v, true)
	}
}

func (s *stackScan) conservative(f *Frame, lo, hi uint64) {
	for a := (lo + 7) &^ 7; a+8 <= hi; a += 8 {
		if v, ok := s.g.word(a); ok {
			s.word(f, a, v, true)
		}
	}
}

func (s *stackScan) frameConservative(f *Frame) {
	hi := f.varp
	if s.m.arch.usesLR && (f.Func.id == funcIDAsyncPreempt || f.Func.id == funcIDDebugCallV2 || f.Func.id == funcIDSigpanic) {
		hi += (s.m.arch.minFrameSize + s.m.arch.stackAlign - 1) &^ (s.m.arch.stackAlign - 1)
	}
	if hi > f.SP {
		s.conservative(f, f.SP, hi)
	}
	if n := int64(f.Func.args); n > 0 && f.Func.args != argsSizeUnknown {
		s.conservative(f, f.argp, f.argp+uint64(n))
	}
}

//go:norace
func (s *stackScan) masked(f *Frame, base uint64, n uint64, mask []byte, conservative bool) {
	if base > s.g.Hi {
		return
	}
	// memory beyond the stack has no slots, and n may be nonsense
	n = min(n, (s.g.Hi-base)/8)
	for i := uint64(0); i < n; i++ {
		if MaskBit(mask, i) {
			if v, ok := s.g.word(base + 8*i); ok {
				s.word(f, base+8*i, v, conservative)
			}
		}
	}
}

func (s *stackScan) frame(f *Frame) error {
	if f.ContPC == 0 {
		return nil
	}
	if f.SP > s.g.Hi {
		return errStackEnd
	}
	info, err := s.m.loadMaps(f.Func, f.ContPC)
	if err != nil {
		return err
	}
	if f.varp-f.SP > s.m.arch.minLocals && f.varp > f.SP {
		n := info.locals.n
		if n*8 > f.varp-s.g.stackFrom {
			return fmt.Errorf("the locals of %s leave the stack", f.Func.Name)
		}
		s.masked(f, f.varp-n*8, n, info.locals.bits, false)
	}
	args := info.args
	if f.Func.args == argsSizeUnknown {
		if args, err = s.reflectArgs(f); err != nil {
			return err
		}
	}
	s.masked(f, f.argp, args.n, args.bits, false)
	for i := range info.objects {
		o := &info.objects[i]
		base := f.varp
		if o.off >= 0 {
			base = f.argp
		}
		// An object below the stack pointer belongs to a frame that has not been made yet
		// (runtime/stack.go and mgcmark.go, scanframeworker).
		if addr := base + uint64(int64(o.off)); addr >= f.SP {
			if addr > s.g.Hi || uint64(o.size) > s.g.Hi-addr {
				return fmt.Errorf("%s claims a stack object of %d bytes", f.Func.Name, o.size)
			}
			s.objects = append(s.objects, liveObject{addr: addr, rec: o, frame: f})
		}
	}
	if len(s.objects) > len(s.g.stack)/8 { // each holds a pointer
		return errStackObjects
	}
	return nil
}

// reflectArgs finds the arguments of the stubs that reflect.MakeFunc and method values run through.
// The map of these arguments comes from the reflect.methodValue that the stub keeps at the bottom
// of its frame (runtime/stkframe.go, argMapInternal).
func (s *stackScan) reflectArgs(f *Frame) (ptrMap, error) {
	if f.Func.Name != "reflect.makeFuncStub" && f.Func.Name != "reflect.methodValueCall" {
		return ptrMap{}, nil
	}
	arg0 := f.SP + s.m.arch.minFrameSize
	minSP := f.FP
	if !s.m.arch.usesLR {
		minSP -= 8
	}
	if arg0 >= minSP {
		return ptrMap{}, nil // it has not started yet
	}
	mv, ok := s.g.word(arg0)
	if !ok {
		return ptrMap{}, fmt.Errorf("no method value in the frame of %s", f.Func.Name)
	}
	mem := s.m.Mem
	retValid, _ := s.g.word(arg0 + 4*8)
	bv := mem.U64(mv + 8)
	n := uint64(mem.U32(bv))
	if retValid&0xff == 0 {
		if in := mem.U64(mv+16) / 8; in < n {
			n = in
		}
	}
	if n > 1<<20 {
		return ptrMap{}, fmt.Errorf("%s claims %d argument words", f.Func.Name, n)
	}
	args := ptrMap{n, mem.Bytes(mem.U64(bv+8), (n+7)/8)}
	// Its register arguments, an internal/abi.RegArgs, are the highest local.
	if size, ptrs, ok := s.regArgs(); ok {
		rec := &stackObject{off: -int32((size + 7) &^ 7), size: int32(size), ptrWords: ptrs.n, mask: ptrs.bits}
		if addr := f.varp + uint64(int64(rec.off)); addr >= f.SP {
			s.objects = append(s.objects, liveObject{addr: addr, rec: rec, frame: f})
		}
	}
	return args, mem.Err()
}

// regArgs describes internal/abi.RegArgs: integer registers, float registers, and the pointers
// among the integer registers. The collector follows only these pointers.
func (s *stackScan) regArgs() (size uint64, ptrs ptrMap, ok bool) {
	t := s.m.fields.Struct("internal/abi.RegArgs")
	if t == nil {
		return 0, ptrMap{}, false
	}
	for _, f := range t.Fields {
		if f.Name != "Ptrs" {
			continue
		}
		first, n := uint64(f.Offset)/8, uint64(s.m.names.Type(f.Type).Size)/8
		bits := make([]byte, (first+n+7)/8)
		for i := first; i < first+n; i++ {
			bits[i>>3] |= 1 << (i & 7)
		}
		return uint64(t.Size), ptrMap{first + n, bits}, true
	}
	return 0, ptrMap{}, false
}

func (s *stackScan) deferred() error {
	at := &s.m.deferred
	read := func(addr uint64) uint64 {
		if v, ok := s.g.word(addr); ok {
			return v
		}
		return s.m.Mem.U64(addr)
	}
	var list image.Chain
	for d := s.g.defers; d != 0; {
		if list.Returns(d) {
			return errors.New("the list of deferred calls does not end")
		}
		if fn := read(d + at.Fn); fn != 0 {
			s.deferredCall(s.frames[read(d+at.SP)], d+at.Fn, fn)
		}
		link := read(d + at.Next)
		s.word(nil, d+at.Next, link, false)
		if read(d+at.Heap&^7)>>(8*(at.Heap&7))&0xff != 0 {
			s.visit(Slot{Value: d, Record: true})
		}
		d = link
		if err := s.m.Mem.Err(); err != nil {
			return err
		}
	}
	if p := s.g.panics; s.g.stackFrom <= p && p < s.g.Hi {
		s.precise = append(s.precise, p)
	}
	return nil
}

// deferredCall reports the closure of a deferred call.
func (s *stackScan) deferredCall(f *Frame, addr, fn uint64) {
	onStack := s.g.stackFrom <= fn && fn < s.g.Hi
	if onStack {
		s.precise = append(s.precise, fn)
	}
	s.visit(Slot{Frame: f, Addr: addr, Value: fn, OnStack: onStack, Deferred: true})
}

// followObjects scans the stack objects that something points to, precise pointers first.
func (s *stackScan) followObjects() {
	byAddress := func(i, j int) bool { return s.objects[i].addr < s.objects[j].addr }
	if !sort.SliceIsSorted(s.objects, byAddress) {
		sort.Slice(s.objects, byAddress)
	}
	for {
		var p uint64
		guess := false
		switch {
		case len(s.precise) > 0:
			p = s.precise[len(s.precise)-1]
			s.precise = s.precise[:len(s.precise)-1]
		case len(s.guesses) > 0:
			p = s.guesses[len(s.guesses)-1]
			s.guesses = s.guesses[:len(s.guesses)-1]
			guess = true
		default:
			return
		}
		o, next := s.find(p)
		if o == nil || o.done {
			continue
		}
		o.done = true
		n := o.rec.ptrWords
		if next < len(s.objects) { // objects do not overlap (runtime/mgcstack.go, addObject)
			n = min(n, (s.objects[next].addr-o.addr)/8)
		}
		s.end = o.addr + uint64(o.rec.size)
		s.masked(o.frame, o.addr, n, o.rec.mask, guess)
	}
}

// find returns the stack object that holds an address, and the index of the next one.
func (s *stackScan) find(p uint64) (*liveObject, int) {
	lo, hi := 0, len(s.objects)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.objects[mid].addr <= p {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || p >= s.objects[lo-1].addr+uint64(s.objects[lo-1].rec.size) {
		return nil, 0
	}
	return &s.objects[lo-1], lo
}
