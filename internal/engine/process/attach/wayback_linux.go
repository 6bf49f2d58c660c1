//go:build amd64 || arm64

package attach

import (
	"errors"
	"fmt"
	"os"
)

// A thread that is made to do a system call has other registers meanwhile. If this process is
// killed then, the kernel lets the thread go on with these registers. A return follows the system
// call and leads to the system call rt_sigreturn, which restores the thread's registers and signal
// mask, as at the end of a signal handler. The signal frame that rt_sigreturn needs lies at the far
// end of the thread's signal stack, which only deeply nested handlers use. It is the kernel's frame
// for handlers, without the siginfo, which rt_sigreturn does not read.

// below is the room in bytes for a signal handler that begins on that stack all the same; above is
// the room for one that has begun.
const below, above = 12 << 10, 8 << 10

// restoreCode writes such a frame for a stopped thread that is to go on with these registers and
// this signal mask, and returns the stack pointer at which rt_sigreturn finds it.
func (s *stopped) restoreCode(t *thread, regs general, mask uint64) (sp uint64, err error) {
	if s.code.sigreturn == 0 || s.signalStack == nil {
		return 0, errors.New("its code has no return from signal handlers")
	}
	lo, hi := s.signalStack(regs.stackPointer())
	if lo == 0 {
		return 0, errors.New("it has no signal stack, or is on it")
	}
	state, err := extendedState(t.tid)
	if err != nil {
		return 0, err
	}
	sp = (lo + below + 63) &^ 63
	frame := signalFrame(s.code, beginAgain(regs), mask, state, sp)
	if sp+uint64(len(frame))+above > hi {
		return 0, errors.New("its signal stack is too small")
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", s.pid), os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = memory.Close() }()
	if _, err := memory.WriteAt(frame, int64(sp)); err != nil {
		return 0, err
	}
	return sp, nil
}
