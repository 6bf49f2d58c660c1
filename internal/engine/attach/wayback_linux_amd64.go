package attach

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// A thread that is made to do a system call has other registers meanwhile. Should this process be
// killed then, the kernel lets the thread go on with these: behind the system call there is a return,
// and what that finds on the stack leads to the system call rt_sigreturn, which gives the thread the
// registers and the signal mask back that it had, as at the end of a signal handler. This stack is
// the far end of the thread's signal stack, where nothing is but in the depth of a handler.
//
// The frame is that of the kernel for handlers (arch/x86/include/asm/sigframe.h, struct
// rt_sigframe; uapi/asm/sigcontext.h, struct sigcontext_64 and struct _fpx_sw_bytes), without the
// siginfo, which rt_sigreturn does not read.
const (
	frameLen = 8 + 40 + 256 + 8 // where to return to; ucontext: flags, link, stack; registers; mask

	// below is what a signal handler may need, should one begin on that stack all the same; above is
	// what one that has begun may have in use.
	below, above = 12 << 10, 8 << 10

	contextHasState  = 1 << 0 // UC_FP_XSTATE
	contextHasStack  = 1 << 1 // UC_SIGCONTEXT_SS
	contextStrictSeg = 1 << 2 // UC_STRICT_RESTORE_SS

	stateMagic1, stateMagic2 = 0x46505853, 0x46505845 // FP_XSTATE_MAGIC1 and 2
	stateSoftware            = 464                    // where struct _fpx_sw_bytes lies in the state
	stateFeatures            = 512                    // XSTATE_BV, the parts that are not as at a reset

	// The parts of the state up to the configuration of AMX. Its tiles, which follow, belong to the
	// frames of those processes only that have asked for them (arch_prctl, ARCH_REQ_XCOMP_PERM).
	stateWithoutTiles = 2816
	tiles             = 18

	restartSyscall = 219 // __NR_restart_syscall
)

// wayBack writes such a frame for a stopped thread that is to go on with these registers and this
// signal mask, and returns the stack pointer that leads to it.
func (s *stopped) wayBack(t *thread, regs syscall.PtraceRegs, mask uint64) (sp uint64, err error) {
	if s.code.sigreturn == 0 || s.signalStack == nil {
		return 0, errors.New("its code has no return from signal handlers")
	}
	lo, hi := s.signalStack(regs.Rsp)
	state, err := extendedState(t.tid)
	if err != nil {
		return 0, err
	}
	sp = (lo + below + 63) &^ 63
	at := (sp + frameLen + 63) &^ 63
	if lo == 0 || at+uint64(len(state))+above > hi {
		return 0, errors.New("it has no signal stack, or is on it")
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", s.pid), os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = memory.Close() }()
	frame := append(signalFrame(s.code.sigreturn, beginAgain(regs), mask, at), make([]byte, at-sp-frameLen)...)
	if _, err := memory.WriteAt(append(frame, state...), int64(sp)); err != nil {
		return 0, err
	}
	return sp, nil
}

// beginAgain has a thread that was interrupted in a system call begin it again, as the kernel does.
func beginAgain(regs syscall.PtraceRegs) syscall.PtraceRegs {
	result := int64(regs.Rax)
	if int64(regs.Orig_rax) < 0 || result < restartFirst || result > restartLast {
		return regs
	}
	regs.Rax = regs.Orig_rax
	if result == restartFirst {
		regs.Rax = restartSyscall
	}
	regs.Rip -= uint64(len(syscallRet) - 1)
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

// signalFrame is the frame of a handler that returns to these registers, with its state at an
// address.
func signalFrame(sigreturn uint64, r syscall.PtraceRegs, mask, state uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, 0, frameLen), sigreturn)
	b = le.AppendUint64(b, contextHasState|contextHasStack|contextStrictSeg)
	// No link. A signal stack of no size cannot be set by a thread that is on it: it keeps its own.
	b = append(b, make([]byte, 8+24)...)
	for _, v := range [...]uint64{
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rdi, r.Rsi, r.Rbp, r.Rbx, r.Rdx, r.Rax, r.Rcx, r.Rsp, r.Rip, r.Eflags,
	} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint64(b, r.Cs&0xffff|r.Ss<<48)
	b = append(b, make([]byte, 32)...) // error, trap, old mask, faulting address
	b = le.AppendUint64(b, state)
	b = append(b, make([]byte, 64)...)
	return le.AppendUint64(b, mask)
}
