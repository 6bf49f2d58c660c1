package attach

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// alignment is that of instructions, in bytes.
const alignment = 4

var (
	callReturn = [...]byte{0x01, 0, 0, 0xd4, 0xc0, 0x03, 0x5f, 0xd6} // SVC; RET
	sigreturns = [...][]byte{
		{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}, // MOVD $139, R8; SVC
	}
)

const syscallLen = 4

func (g *general) stackPointer() uint64 { return g.Sp }

// result is what a system call has returned.
func (g *general) result() int64 { return int64(g.Regs[0]) }

// callOf turns a thread's registers into those for a system call. back is the stack pointer of the
// thread's way back, 0 if there is none.
func (g *general) callOf(code instructions, back, number uint64, args []uint64) {
	// The return after the call leads to rt_sigreturn. Without a way back it leads to address 0: a
	// copy ends there.
	g.Regs[30] = 0
	if back != 0 {
		g.Sp, g.Regs[30] = back, code.sigreturn
	}
	g.Pc, g.Regs[8] = code.call, number
	for i := range 6 {
		if g.Regs[i] = 0; i < len(args) {
			g.Regs[i] = args[i]
		}
	}
}

// System calls that the kernel resumes by a record of its own, not by their arguments, with which
// they would wait for the whole time again (include/uapi/asm-generic/unistd.h).
const (
	futex          = 98
	nanosleep      = 101
	clockNanosleep = 115
	restartSyscall = 128
	futexWaitV     = 449
	futexWait      = 455
)

// calling says what a stop has interrupted in a thread. At a stop the kernel has already set the
// thread back to the instruction of the system call, with the original arguments, unless the call
// is not to be restarted (arch/arm64/kernel/signal.c, do_signal). For some calls the kernel records
// how long they still have to wait; it drops this record as soon as the thread runs anything else.
func (s *stopped) calling(t *thread) callState {
	memory, err := openMemory(s.pid)
	if err != nil {
		return callLost
	}
	defer func() { _ = memory.Close() }()
	var code [syscallLen]byte
	if _, err := memory.ReadAt(code[:], int64(t.regs.Pc)); err != nil || string(code[:]) != string(callReturn[:syscallLen]) {
		return callNone
	}
	switch r := &t.regs.Regs; r[8] {
	case nanosleep, clockNanosleep, restartSyscall, futexWaitV, futexWait:
		return callLost
	case futex:
		if r[3] != 0 { // the limit of its wait
			return callLost
		}
	}
	return callRestored
}

// beginAgain makes a thread that was interrupted in a system call restart it; its registers do that
// already.
func beginAgain(regs general) general { return regs }

// The following is from arch/arm64/kernel/signal.c, struct rt_sigframe; uapi/asm/sigcontext.h,
// struct sigcontext and struct fpsimd_context; uapi/asm/ptrace.h, struct user_fpsimd_state and
// struct user_sve_header.
const (
	noteFPSIMD = 2     // NT_PRFPREG
	noteSVE    = 0x405 // NT_ARM_SVE

	siginfoLen = 128
	contextLen = 8 + 8 + 24 + 128 + 8 // ucontext up to the registers: flags, link, stack, mask with room, alignment
	generalLen = 8 + 31*8 + 8 + 8 + 8 + 8
	vectorsLen = 32 * 16

	fpsimdMagic = 0x46508001
)

// extendedState returns the state of the floating point and vector unit of a stopped thread, as
// user_fpsimd_state: vector registers, fpsr, fpcr.
func extendedState(tid int) ([]byte, error) {
	// Any system call loses the registers beyond those 128 bits, but code that uses them and was
	// interrupted needs them.
	if b, err := regset(tid, noteSVE, make([]byte, 64<<10)); err == nil && len(b) > 16 && b[12]&1 != 0 {
		return nil, errors.New("it uses registers of SVE")
	}
	b, err := regset(tid, noteFPSIMD, make([]byte, 1<<10))
	if err == nil && len(b) < vectorsLen+8 {
		err = fmt.Errorf("its state has %d bytes", len(b))
	}
	return b, err
}

// signalFrame returns the frame of a signal handler that returns to these registers.
func signalFrame(_ instructions, r general, mask uint64, state []byte, _ uint64) []byte {
	le := binary.LittleEndian
	// No flags, and no link. A signal stack of size 0 cannot be set: the thread keeps its own.
	b := make([]byte, siginfoLen+8+8+24, siginfoLen+contextLen+generalLen+vectorsLen+32)
	b = le.AppendUint64(b, mask)
	b = append(b, make([]byte, siginfoLen+contextLen-len(b))...)
	b = le.AppendUint64(b, 0) // faulting address
	for _, v := range r.Regs {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, r.Sp), r.Pc), r.Pstate)
	b = le.AppendUint64(b, 0) // alignment
	b = le.AppendUint32(le.AppendUint32(b, fpsimdMagic), 8+8+vectorsLen)
	b = append(b, state[vectorsLen:vectorsLen+8]...)
	b = append(b, state[:vectorsLen]...)
	return append(b, make([]byte, 16)...) // no more records
}
