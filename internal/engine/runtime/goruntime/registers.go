package goruntime

import "encoding/binary"

// A RegisterLayout maps registers to their indexes, in the form that the kernel gives to core files
// and debuggers (uapi/asm/ptrace.h: user_regs_struct of x86-64, user_pt_regs of arm64).
type RegisterLayout struct {
	pc, sp, lr int // lr is -1 if the architecture has none
	count      int // number of general registers that may hold pointers; they come first
	vectors    int // offset of the vector registers in their own record, in bytes
	VectorNote uint32
}

// RegisterLayouts are the layouts of the supported architectures, by GOARCH. An XSAVE area begins
// with 160 bytes of the x87 unit.
var RegisterLayouts = map[string]RegisterLayout{
	"amd64": {pc: 16, sp: 19, lr: -1, count: 15, vectors: 160, VectorNote: 0x202}, // NT_X86_XSTATE
	"arm64": {pc: 32, sp: 31, lr: 30, count: 31, VectorNote: 2},                   // NT_PRFPREG
}

// General converts the general registers of a thread; ok is false if b has too few.
func (l RegisterLayout) General(tid int, b []byte) (t Thread, ok bool) {
	if len(b) < 8*(max(l.pc, l.sp)+1) {
		return Thread{}, false
	}
	reg := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	t = Thread{TID: tid, PC: reg(l.pc), SP: reg(l.sp)}
	if l.lr >= 0 {
		t.LR = reg(l.lr)
	}
	for i := range l.count {
		t.Registers = append(t.Registers, reg(i))
	}
	return t, true
}

// Vectors adds the nonzero words of a thread's vector registers, which may be pointers.
func (l RegisterLayout) Vectors(t *Thread, b []byte) {
	for at := l.vectors; at+8 <= len(b); at += 8 {
		if v := binary.LittleEndian.Uint64(b[at:]); v != 0 {
			t.Registers = append(t.Registers, v)
		}
	}
}
