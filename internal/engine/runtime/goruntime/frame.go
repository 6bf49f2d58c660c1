package goruntime

import (
	"errors"
	"fmt"
)

// A Frame is a physical frame of a goroutine (runtime/stkframe.go, stkframe).
type Frame struct {
	Func   *Func
	PC     uint64 // where execution will go on; a return address in all frames but the innermost
	ContPC uint64 // the pc to look up liveness with, 0 if the frame is dead
	SP, FP uint64 // FP is the canonical frame address: the stack pointer at the caller
	varp   uint64 // top of the locals
	argp   uint64 // arguments
	info   *pcInfo
	Async  bool // stopped at any instruction: the frame below holds its registers
	// Interrupted is the frame whose registers this one holds, nil if it holds none.
	Interrupted *Frame
}

// pcInfo is the function tables' information on one pc; goroutines at the same pc share it.
type pcInfo struct {
	spDelta int32
	hasSP   bool
	mapIdx  int32
	locals  ptrMap
	args    ptrMap
	objects []stackObject
	ready   bool
}

type ptrMap struct {
	n    uint64 // words
	bits []byte
}

// stackObject is an address-taken variable on the stack (runtime/stack.go, stackObjectRecord).
type stackObject struct {
	off, size int32
	ptrWords  uint64
	mask      []byte
}

var errStackEnd = errors.New("the stack walk does not end at its top")

// Frames walks a goroutine's stack from the innermost frame out, as the collector's unwinder does
// (runtime/traceback.go, go1.26: initAt, resolveInternal, next).
//
//go:norace
func (m *Model) Frames(g *Goroutine, visit func(*Frame) error) error {
	if g.lost {
		return nil
	}
	u := unwinder{m: m, g: g, pc: g.PC, sp: g.SP, lr: g.lr, innermost: true}
	if err := u.leaveNilCall(); err != nil {
		return err
	}
	// Every frame but the innermost has a return address of its own on the stack.
	limit := uint64(len(g.stack))/8 + 2
	for n := uint64(0); n < limit; n++ {
		f := m.FuncAt(u.pc)
		if f == nil {
			return fmt.Errorf("no function holds the pc of frame %d", n)
		}
		if f.pcsp == 0 {
			return nil // no frame information: foreign code at the end of the stack
		}
		fr, err := u.frame(f)
		if err != nil {
			return err
		}
		if err := visit(fr); err != nil {
			return err
		}
		if u.lr == 0 {
			if fr.SP != g.top { // runtime/traceback.go, finishInternal
				return errStackEnd
			}
			return nil
		}
		if err := u.next(fr); err != nil {
			return err
		}
	}
	return fmt.Errorf("the stack does not end after %d frames", limit)
}

// An unwinder is where a walk of a stack stands.
type unwinder struct {
	m          *Model
	g          *Goroutine
	pc, sp, lr uint64 // of the frame; lr is 0 until the return address is read
	innermost  bool
	callee     uint8 // id of the function that the frame has called
}

// leaveNilCall starts in the caller after a call of a nil func.
func (u *unwinder) leaveNilCall() error {
	if u.pc != 0 {
		return nil
	}
	w, ok := u.g.word(u.sp)
	if !ok {
		return errors.New("no return address at the top of the stack")
	}
	u.pc, u.lr = w, 0
	if !u.m.arch.usesLR {
		u.sp += 8
	}
	return nil
}

// frame returns the frame of a function, and finds the return address: 0 at the end of the stack.
//
//go:norace
func (u *unwinder) frame(f *Func) (*Frame, error) {
	fr := &Frame{Func: f, PC: u.pc, SP: u.sp, ContPC: u.pc, info: u.m.pcInfo(f, u.pc)}
	if !fr.info.hasSP {
		return nil, fmt.Errorf("%s has no frame size at its pc", f.Name)
	}
	fr.FP = u.sp + uint64(int64(fr.info.spDelta))
	if !u.m.arch.usesLR {
		fr.FP += 8
	}
	if fr.FP < u.sp || fr.FP > u.g.Hi {
		return nil, fmt.Errorf("the frame of %s leaves the stack", f.Name)
	}
	if err := u.findReturn(fr); err != nil {
		return nil, err
	}
	fr.varp = fr.FP
	if !u.m.arch.usesLR {
		fr.varp -= 8
	}
	if fr.varp > fr.SP {
		fr.varp -= 8 // the saved frame pointer
	}
	fr.argp = fr.FP + u.m.arch.minFrameSize
	if u.callee == funcIDSigpanic {
		fr.ContPC = 0
		if f.deferreturn != 0 {
			fr.ContPC = f.Entry + uint64(f.deferreturn) + 1
		}
	}
	return fr, nil
}

// findReturn reads the return address of a frame into lr.
//
//go:norace
func (u *unwinder) findReturn(fr *Frame) error {
	f, flag := fr.Func, fr.Func.flag
	if f.id == funcIDCgocallback || u.innermost && (u.g.syscall || u.g.interrupted) {
		// Where the goroutine was stopped, the stack pointer was still its own.
		flag &^= funcFlagSPWrite
	}
	switch {
	case flag&funcFlagTopFrame != 0:
		u.lr = 0
		return nil
	case flag&funcFlagSPWrite != 0:
		if !u.innermost {
			return fmt.Errorf("%s moves the stack pointer", f.Name)
		}
		u.lr = 0
		return nil
	}
	at := fr.FP - 8
	if u.m.arch.usesLR {
		at = u.sp
	}
	if u.lr != 0 && (!u.m.arch.usesLR || !u.innermost || u.sp == fr.FP) {
		return nil // in a register
	}
	w, ok := u.g.word(at)
	if !ok {
		return fmt.Errorf("no return address in the frame of %s", f.Name)
	}
	u.lr = w
	return nil
}

// next goes on to the caller of a frame.
//
//go:norace
func (u *unwinder) next(fr *Frame) error {
	f := fr.Func
	if u.lr == u.pc && fr.FP == u.sp {
		return fmt.Errorf("the stack walk makes no progress in %s", f.Name)
	}
	u.callee, u.innermost = f.id, false
	u.pc, u.lr, u.sp = u.lr, 0, fr.FP
	injected := f.id == funcIDSigpanic || f.id == funcIDAsyncPreempt || f.id == funcIDDebugCallV2
	if !u.m.arch.usesLR || !injected {
		return nil
	}
	// The signal handler saved the link register before it faked the call.
	x, ok := u.g.word(u.sp)
	if !ok {
		return fmt.Errorf("no saved link register below %s", f.Name)
	}
	u.sp += (u.m.arch.minFrameSize + u.m.arch.stackAlign - 1) &^ (u.m.arch.stackAlign - 1)
	if caller := u.m.FuncAt(u.pc); caller == nil {
		u.pc = x
	} else if d := u.m.pcInfo(caller, u.pc); d.hasSP && d.spDelta == 0 {
		u.lr = x
	}
	return nil
}

func (m *Model) pcInfo(f *Func, pc uint64) *pcInfo {
	if info := m.pcs[pc]; info != nil {
		return info
	}
	info := &pcInfo{}
	info.spDelta, info.hasSP = m.pcvalue(f, f.pcsp, pc)
	m.pcs[pc] = info
	return info
}

// Bounds of stack objects, which a damaged function table could exceed: the runtime's limit of a
// stack, and a pointer for each eight bytes of the largest frame that the compiler makes (go1.26
// and go1.27 runtime/proc.go, main; cmd/compile/internal/ir/cfg.go, MaxStackVarSize).
const (
	maxStackObject  = 1 << 30
	maxStackObjects = 1 << 20
)

// loadMaps fills in the stack maps and stack objects of a frame's continuation pc
// (runtime/stkframe.go, getStackMap). Whether the objects fit on a stack is for each goroutine to
// be found out: where a function has not made its frame yet, they are not there.
func (m *Model) loadMaps(f *Func, contPC uint64) (*pcInfo, error) {
	info := m.pcInfo(f, contPC)
	if info.ready {
		return info, nil
	}
	info.mapIdx = -1
	if contPC != f.Entry {
		info.mapIdx = m.pcdata(f, pcdataStackMapIndex, contPC-1)
	}
	if info.mapIdx == -1 {
		info.mapIdx = 0
	}
	var err error
	if info.locals, err = m.stackMap(f, funcdataLocalsPointerMaps, info.mapIdx); err != nil {
		return nil, err
	}
	if f.args != 0 && f.args != argsSizeUnknown {
		if info.args, err = m.stackMap(f, funcdataArgsPointerMaps, info.mapIdx); err != nil {
			return nil, err
		}
	}
	if p := f.funcdata(funcdataStackObjects); p != 0 {
		n := m.Mem.U64(p)
		if n > maxStackObjects {
			return nil, fmt.Errorf("%s claims %d stack objects", f.Name, n)
		}
		b := m.Mem.Bytes(p+8, n*16)
		if b == nil && n > 0 {
			return nil, m.Mem.Err()
		}
		for i := uint64(0); i < n; i++ {
			o := stackObject{off: int32(u32(b, 16*i)), size: int32(u32(b, 16*i+4))}
			o.ptrWords = uint64(u32(b, 16*i+8)) / 8
			if size := uint64(u32(b, 16*i+4)); size > maxStackObject || o.ptrWords*8 > size {
				return nil, fmt.Errorf("%s claims a stack object of %d bytes", f.Name, max(size, o.ptrWords*8))
			}
			if o.ptrWords > 0 {
				o.mask = m.Mem.Bytes(f.mod.rodata+uint64(u32(b, 16*i+12)), (o.ptrWords+7)/8)
				if o.mask == nil {
					return nil, m.Mem.Err()
				}
			}
			info.objects = append(info.objects, o)
		}
	}
	info.ready = true
	return info, m.Mem.Err()
}

// stackMap reads entry idx of a stackmap{n, nbit int32; bytedata}.
func (m *Model) stackMap(f *Func, which uint32, idx int32) (ptrMap, error) {
	p := f.funcdata(which)
	if p == 0 {
		return ptrMap{}, nil
	}
	n, nbit := int32(m.Mem.U32(p)), int32(m.Mem.U32(p+4))
	if nbit <= 0 || n <= 0 {
		return ptrMap{}, m.Mem.Err()
	}
	if idx < 0 || idx >= n || nbit > 1<<28 {
		return ptrMap{}, fmt.Errorf("%s has no stack map number %d", f.Name, idx)
	}
	size := (uint64(nbit) + 7) / 8
	return ptrMap{uint64(nbit), m.Mem.Bytes(p+8+size*uint64(idx), size)}, m.Mem.Err()
}
