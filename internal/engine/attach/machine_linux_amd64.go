package attach

import (
	"encoding/binary"
	"fmt"
)

// alignment of instructions, in bytes.
const alignment = 1

var (
	callReturn = [...]byte{0x0f, 0x05, 0xc3} // SYSCALL; RET
	sigreturns = [...][]byte{
		{0xb8, 15, 0, 0, 0, 0x0f, 0x05},             // MOVL $15, AX; SYSCALL
		{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}, // MOVQ $15, AX; SYSCALL
	}
)

const syscallLen = 2

func (g *general) stackPointer() uint64 { return g.Rsp }

// result is what a system call has returned.
func (g *general) result() int64 { return int64(g.Rax) }

// callOf makes of a thread's registers those at a system call. back is the stack pointer of its way back, 0 if it has
// none.
func (g *general) callOf(code instructions, back, number uint64, args []uint64) {
	if back != 0 {
		g.Rsp = back // where the return finds rt_sigreturn
	}
	g.Rip, g.Rax, g.Orig_rax = code.call, number, ^uint64(0) // no system call to begin again
	for i, to := range []*uint64{&g.Rdi, &g.Rsi, &g.Rdx, &g.R10, &g.R8, &g.R9} {
		if *to = 0; i < len(args) {
			*to = args[i]
		}
	}
}

// calling says what a thread was interrupted in. A system call is begun again by the kernel, after the stop in which
// the registers are restored, as they say.
func (s *stopped) calling(t *thread) callState {
	if int64(t.regs.Orig_rax) >= 0 {
		return callRestored
	}
	return callNone
}

// What follows is of arch/x86/include/asm/sigframe.h, struct rt_sigframe; uapi/asm/sigcontext.h, struct sigcontext_64 and
// struct _fpx_sw_bytes.
const (
	frameLen = 8 + 40 + 256 + 8 // where to return to; ucontext: flags, link, stack; registers; mask

	contextHasState  = 1 << 0 // UC_FP_XSTATE
	contextHasStack  = 1 << 1 // UC_SIGCONTEXT_SS
	contextStrictSeg = 1 << 2 // UC_STRICT_RESTORE_SS

	noteXState               = 0x202                  // NT_X86_XSTATE
	stateMagic1, stateMagic2 = 0x46505853, 0x46505845 // FP_XSTATE_MAGIC1 and 2
	stateSoftware            = 464                    // where struct _fpx_sw_bytes lies in the state
	stateFeatures            = 512                    // XSTATE_BV, the parts that are not as at a reset

	// The parts of the state up to the configuration of AMX. Its tiles, which follow, belong to the
	// frames of those processes only that have asked for them (arch_prctl, ARCH_REQ_XCOMP_PERM).
	stateWithoutTiles = 2816
	tiles             = 18

	restartSyscall = 219 // __NR_restart_syscall
)

// beginAgain has a thread that was interrupted in a system call begin it again, as the kernel does.
func beginAgain(regs general) general {
	result := regs.result()
	if int64(regs.Orig_rax) < 0 || result < restartFirst || result > restartLast {
		return regs
	}
	regs.Rax = regs.Orig_rax
	if result == restartFirst {
		regs.Rax = restartSyscall
	}
	regs.Rip -= syscallLen
	return regs
}

// extendedState is the state of the floating point and vector units of a stopped thread, in the form
// that it has in frames.
func extendedState(tid int) ([]byte, error) {
	b, err := regset(tid, noteXState, make([]byte, 16<<10))
	if err != nil {
		return nil, err
	}
	if len(b) < stateFeatures+64 {
		return nil, fmt.Errorf("its state has %d bytes", len(b))
	}
	if len(b) > stateWithoutTiles && binary.LittleEndian.Uint64(b[stateFeatures:])>>tiles&1 == 0 {
		b = b[:stateWithoutTiles]
	}
	le := binary.LittleEndian
	software := b[stateSoftware:stateFeatures]
	features := le.Uint64(software) // ptrace has the features that are enabled here
	clear(software)
	le.PutUint32(software, stateMagic1)
	le.PutUint32(software[4:], uint32(len(b)+4))
	le.PutUint64(software[8:], features)
	le.PutUint32(software[16:], uint32(len(b)))
	return le.AppendUint32(b, stateMagic2), nil
}

// signalFrame is the frame at an address of a handler that returns to these registers.
func signalFrame(code instructions, r general, mask uint64, state []byte, sp uint64) []byte {
	at := (sp + frameLen + 63) &^ 63 // where the state lies
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, 0, at-sp+uint64(len(state))), code.sigreturn)
	b = le.AppendUint64(b, contextHasState|contextHasStack|contextStrictSeg)
	// No link. A signal stack of no size cannot be set: the thread keeps its own.
	b = append(b, make([]byte, 8+24)...)
	for _, v := range [...]uint64{
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rdi, r.Rsi, r.Rbp, r.Rbx, r.Rdx, r.Rax, r.Rcx, r.Rsp, r.Rip, r.Eflags,
	} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint64(b, r.Cs&0xffff|r.Ss<<48)
	b = append(b, make([]byte, 32)...) // error, trap, old mask, faulting address
	b = le.AppendUint64(b, at)
	b = append(b, make([]byte, 64)...)
	b = le.AppendUint64(b, mask)
	return append(append(b, make([]byte, at-sp-frameLen)...), state...)
}
