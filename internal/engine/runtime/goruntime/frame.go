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
	pc, sp, lr := g.PC, g.SP, g.lr
	if pc == 0 { // a call of a nil func: start in the caller
		w, ok := g.word(sp)
		if !ok {
			return errors.New("no return address at the top of the stack")
		}
		pc = w
		lr = 0
		if !m.arch.usesLR {
			sp += 8
		}
	}
	innermost, callee := true, uint8(0)
	// Every frame but the innermost has a return address of its own on the stack.
	limit := uint64(len(g.stack))/8 + 2
	for n := uint64(0); ; n++ {
		if n == limit {
			return fmt.Errorf("the stack does not end after %d frames", n)
		}
		f := m.FuncAt(pc)
		if f == nil {
			return fmt.Errorf("no function holds the pc of frame %d", n)
		}
		fr := &Frame{Func: f, PC: pc, SP: sp}
		if f.pcsp == 0 {
			return nil // no frame information: foreign code at the end of the stack
		}
		info := m.pcInfo(f, pc)
		fr.info = info
		if !info.hasSP {
			return fmt.Errorf("%s has no frame size at its pc", f.Name)
		}
		fr.FP = sp + uint64(int64(info.spDelta))
		if !m.arch.usesLR {
			fr.FP += 8
		}
		if fr.FP < sp || fr.FP > g.Hi {
			return fmt.Errorf("the frame of %s leaves the stack", f.Name)
		}
		flag := f.flag
		if f.id == funcIDCgocallback || (innermost && (g.syscall || g.interrupted)) {
			// Where the goroutine was stopped, the stack pointer was still its own.
			flag &^= funcFlagSPWrite
		}
		switch {
		case flag&funcFlagTopFrame != 0:
			lr = 0
		case flag&funcFlagSPWrite != 0:
			if !innermost {
				return fmt.Errorf("%s moves the stack pointer", f.Name)
			}
			lr = 0
		case m.arch.usesLR:
			if (innermost && sp < fr.FP) || lr == 0 {
				w, ok := g.word(sp)
				if !ok {
					return fmt.Errorf("no return address in the frame of %s", f.Name)
				}
				lr = w
			}
		case lr == 0:
			w, ok := g.word(fr.FP - 8)
			if !ok {
				return fmt.Errorf("no return address in the frame of %s", f.Name)
			}
			lr = w
		}
		fr.varp = fr.FP
		if !m.arch.usesLR {
			fr.varp -= 8
		}
		if fr.varp > fr.SP {
			fr.varp -= 8 // the saved frame pointer
		}
		fr.argp = fr.FP + m.arch.minFrameSize
		fr.ContPC = pc
		if callee == funcIDSigpanic {
			fr.ContPC = 0
			if f.deferreturn != 0 {
				fr.ContPC = f.Entry + uint64(f.deferreturn) + 1
			}
		}
		if err := visit(fr); err != nil {
			return err
		}
		if lr == 0 {
			if fr.SP != g.top { // runtime/traceback.go, finishInternal
				return errStackEnd
			}
			return nil
		}
		if lr == pc && fr.FP == sp {
			return fmt.Errorf("the stack walk makes no progress in %s", f.Name)
		}
		injected := f.id == funcIDSigpanic || f.id == funcIDAsyncPreempt || f.id == funcIDDebugCallV2
		callee, innermost = f.id, false
		pc, lr, sp = lr, 0, fr.FP
		if m.arch.usesLR && injected {
			// The signal handler saved the link register before it faked the call.
			x, ok := g.word(sp)
			if !ok {
				return fmt.Errorf("no saved link register below %s", f.Name)
			}
			sp += (m.arch.minFrameSize + m.arch.stackAlign - 1) &^ (m.arch.stackAlign - 1)
			if next := m.FuncAt(pc); next == nil {
				pc = x
			} else if d := m.pcInfo(next, pc); d.hasSP && d.spDelta == 0 {
				lr = x
			}
		}
	}
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
