package attach

import (
	"encoding/binary"
	"fmt"
)

// alignment is that of instructions, in bytes.
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

// callOf turns a thread's registers into those for a system call. back is the stack pointer of the
// thread's way back, 0 if there is none.
func (g *general) callOf(code instructions, back, number uint64, args []uint64) {
	if back != 0 {
		g.Rsp = back // the return finds the address of rt_sigreturn there
	}
	g.Rip, g.Rax, g.Orig_rax = code.call, number, ^uint64(0) // there is no system call to restart
	for i, to := range []*uint64{&g.Rdi, &g.Rsi, &g.Rdx, &g.R10, &g.R8, &g.R9} {
		if *to = 0; i < len(args) {
			*to = args[i]
		}
	}
}

// calling says what a stop has interrupted in a thread. The kernel restarts a system call after the
// stop in which the registers are restored, by these registers.
func (s *stopped) calling(t *thread) callState {
	if int64(t.regs.Orig_rax) >= 0 {
		return callRestored
	}
	return callNone
}

// The following is from arch/x86/include/asm/sigframe.h, struct rt_sigframe; uapi/asm/sigcontext.h,
// struct sigcontext_64 and struct _fpx_sw_bytes.
const (
	frameLen = 8 + 40 + 256 + 8 // return address; ucontext: flags, link, stack; registers; mask

	contextHasState  = 1 << 0 // UC_FP_XSTATE
	contextHasStack  = 1 << 1 // UC_SIGCONTEXT_SS
	contextStrictSeg = 1 << 2 // UC_STRICT_RESTORE_SS

	noteXState               = 0x202                  // NT_X86_XSTATE
	stateMagic1, stateMagic2 = 0x46505853, 0x46505845 // FP_XSTATE_MAGIC1 and 2
	stateSoftware            = 464                    // offset of struct _fpx_sw_bytes in the state
	stateFeatures            = 512                    // offset of XSTATE_BV, the parts that differ from the reset state

	// The size of the state's parts up to the configuration of AMX. The tiles of AMX follow; they
	// belong only to the frames of processes that have asked for them (arch_prctl,
	// ARCH_REQ_XCOMP_PERM).
	stateWithoutTiles = 2816
	tiles             = 18

	restartSyscall = 219 // __NR_restart_syscall
)

// beginAgain makes a thread that was interrupted in a system call restart it, as the kernel does.
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

// extendedState returns the state of the floating point and vector units of a stopped thread, in
// the form that it has in signal frames.
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
	features := le.Uint64(software) // ptrace puts the enabled features there
	clear(software)
	le.PutUint32(software, stateMagic1)
	le.PutUint32(software[4:], uint32(len(b)+4))
	le.PutUint64(software[8:], features)
	le.PutUint32(software[16:], uint32(len(b)))
	return le.AppendUint32(b, stateMagic2), nil
}

// signalFrame returns the frame, at address sp, of a signal handler that returns to these
// registers.
func signalFrame(code instructions, r general, mask uint64, state []byte, sp uint64) []byte {
	at := (sp + frameLen + 63) &^ 63 // address of the state
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, 0, at-sp+uint64(len(state))), code.sigreturn)
	b = le.AppendUint64(b, contextHasState|contextHasStack|contextStrictSeg)
	// No link. A signal stack of size 0 cannot be set: the thread keeps its own.
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
