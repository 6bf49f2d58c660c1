//go:build amd64 || arm64

package attach

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const (
	// copyFlags share the table of descriptors and the current folder with the process. They name
	// no exit signal.
	copyFlags = syscall.CLONE_FILES | syscall.CLONE_FS

	// noStack is the stack pointer of the copy. If this process is killed before it has arranged
	// for the copy to die with it, the kernel lets the copy run, and the copy dies at its first
	// instruction.
	noStack = 8

	// The values that a system call leaves in its result register if a signal, or a stop, came
	// first (linux/errno.h): the kernel restarts the call, or turns the value into EINTR.
	restartFirst, restartLast = -516, -512

	// nextTime bounds how long a thread may take to its next stop: with a fork of a large process.
	nextTime = 30 * time.Second

	// maxRestarts bounds how often an injected system call is restarted.
	maxRestarts = 20
)

// inject makes a stopped thread do a system call. Afterwards its registers and signal mask are as
// before, and it is in a stop from which the kernel goes on with the system call that the thread
// was interrupted in, if any. made is the process or thread that the call created, 0 if none.
//
// If this process is killed meanwhile, within some hundred microseconds, the thread restores
// itself; see restoreCode. A thread without a way back would go on with wrong registers.
func (s *stopped) inject(t *thread, number uint64, args ...uint64) (result int64, made int, err error) {
	saved := t.regs
	var mask, all uint64 = 0, ^uint64(0)
	if err := ptrace(ptraceGetSigmask, t.tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); err != nil {
		return 0, 0, fmt.Errorf("its signal mask: %w", err)
	}
	call := saved
	back, err := s.restoreCode(t, saved, mask)
	if err != nil {
		back = 0
	}
	call.callOf(s.code, back, number, args)
	// The way back must be in place before anything else is changed. The signal mask is set because
	// a pending signal would keep clone from beginning.
	if err := errors.Join(setRegisters(t.tid, &call), ptrace(ptraceSetSigmask, t.tid, unsafe.Sizeof(all), uintptr(unsafe.Pointer(&all)))); err != nil {
		return 0, 0, errors.Join(fmt.Errorf("its registers and signal mask: %w", err), s.restore(t, &saved, mask))
	}
	for range maxRestarts {
		if result, made, err = s.call(t, &call); err != nil || result < restartFirst || result > restartLast {
			break
		}
		err = errors.New("a stop comes before it again and again")
	}
	if back := s.restore(t, &saved, mask); back != nil {
		err = errors.Join(err, back)
	}
	return result, made, err
}

// call runs a system call with these registers.
func (s *stopped) call(t *thread, regs *general) (result int64, made int, err error) {
	if err := setRegisters(t.tid, regs); err != nil {
		return 0, 0, err
	}
	for entered := false; ; {
		status, err := s.next(t, syscall.PTRACE_SYSCALL)
		if err != nil {
			return 0, made, err
		}
		switch event := int(status) >> 16; {
		case event == eventClone:
			message, err := syscall.PtraceGetEventMsg(t.tid)
			if err != nil {
				return 0, 0, err
			}
			made = int(message)
		case event != 0:
		case status.StopSignal() == syscall.SIGTRAP|0x80:
			if !entered {
				entered = true
				continue
			}
			now, err := registersOf(t.tid)
			return now.result(), made, err
		default:
			// All signals that can be blocked are blocked: the injected call itself has caused this
			// one.
			return 0, made, fmt.Errorf("signal %v instead of a system call", status.StopSignal())
		}
	}
}

// next lets a thread go on to its next stop.
func (s *stopped) next(t *thread, request int) (syscall.WaitStatus, error) {
	if err := ptrace(request, t.tid, 0, 0); err != nil {
		return 0, err
	}
	status, err := await(t.tid)
	if err == nil && !status.Stopped() {
		delete(s.threads, t.tid)
		return 0, errors.New("the thread has ended")
	}
	return status, err
}

// await waits until a thread has stopped or ended.
func await(tid int) (syscall.WaitStatus, error) {
	deadline := time.Now().Add(nextTime)
	for spins := 0; ; spins++ {
		status, changed, err := changeOf(tid)
		switch {
		case err != nil || changed:
			return status, err
		case time.Now().After(deadline):
			return 0, errStill
		}
		rest(spins)
	}
}

// restore brings a thread back into its earlier stop, before the kernel checks whether a system
// call is to be restarted. The thread's registers are restored last: with those of the injected
// call it would find its way back by itself.
func (s *stopped) restore(t *thread, saved *general, mask uint64) error {
	err := ptrace(ptraceInterrupt, t.tid, 0, 0)
	for err == nil {
		var status syscall.WaitStatus
		if status, err = s.next(t, syscall.PTRACE_CONT); err == nil && int(status)>>16 == eventStop {
			break
		}
	}
	return errors.Join(err, ptrace(ptraceSetSigmask, t.tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))),
		setRegisters(t.tid, saved))
}

// A callState says what a stop has interrupted in a thread.
type callState uint8

const (
	callNone     callState = iota // its own code
	callRestored                  // a system call that goes on once the registers are restored
	callLost                      // a system call that would not go on as before
)

// best returns the thread to inject a system call into: one that was interrupted in its own code,
// if there is any.
func (s *stopped) best() *thread {
	var best *thread
	for _, t := range s.threads {
		if !t.stopped || !t.plain || t.signal != 0 {
			continue
		}
		switch s.calling(t) {
		case callNone:
			return t
		case callRestored:
			best = t
		}
	}
	return best
}

// fork makes a copy of the process, and returns the copy's pid here and in the process's own
// numbering.
func (s *stopped) fork() (pid int, inside int64, err error) {
	t := s.best()
	if t == nil {
		return 0, 0, errors.New("no thread can do a system call")
	}
	result, made, err := s.inject(t, syscall.SYS_CLONE, copyFlags, noStack)
	switch {
	case made != 0: // the copy exists, whatever went wrong later
		return made, result, nil
	case err != nil:
		return 0, 0, fmt.Errorf("the process cannot be made to fork: %w", err)
	case result < 0:
		return 0, 0, fmt.Errorf("the system does not let the process fork: %w", syscall.Errno(-result))
	}
	return 0, 0, fmt.Errorf("the process has forked, and the system does not say what it made (%d)", result)
}

// adopt waits for a copy to stop, before its first instruction, and makes it die with this thread.
func adopt(pid int) error {
	if _, err := await(pid); err != nil {
		return err
	}
	// If memory is short, the kernel should kill the copy.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
	return ptrace(syscall.PTRACE_SETOPTIONS, pid, 0, optionExitKill|optionSysGood)
}

// reapTime bounds how long a thread may take to stop for reap, and how long reap looks for a
// thread.
const reapTime = time.Second

// reap ends the copy, and makes the process reap it.
func (f *Frozen) reap() error {
	_ = syscall.Kill(f.copied, syscall.SIGKILL)
	for {
		status, err := await(f.copied)
		if err != nil || status.Exited() || status.Signaled() {
			break
		}
	}
	code, err := find(f.pid)
	if err != nil {
		return nil // the process has ended, and its zombie with it
	}
	aside := isChild(f.pid)
	for deadline := time.Now().Add(reapTime); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		list, err := (&stopped{pid: f.pid, aside: aside}).traced()
		if err != nil {
			return nil
		}
		for _, tid := range list {
			s := &stopped{pid: f.pid, threads: make(map[int]*thread), code: code, signalStack: f.signalStack}
			if ptrace(ptraceSeize, tid, 0, optionSysGood) != nil {
				continue
			}
			t := &thread{tid: tid}
			s.threads[tid] = t
			if done, err := s.reapFrom(t, f.copyPIDInside); done {
				return err
			}
		}
	}
	return fmt.Errorf("process %d keeps a zombie, of number %d: no thread of it could be stopped", f.pid, f.copyPIDInside)
}

// reapFrom makes one thread wait for a child process that has ended; done is false if another
// thread must be tried.
func (s *stopped) reapFrom(t *thread, pid int64) (done bool, err error) {
	defer s.detach()
	_ = ptrace(ptraceInterrupt, t.tid, 0, 0)
	for deadline := time.Now().Add(reapTime); !s.poll(t); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(deadline) {
			return false, nil
		}
	}
	if s.threads[t.tid] == nil || !t.plain {
		return false, nil
	}
	if t.regs, err = registersOf(t.tid); err != nil || s.calling(t) == callLost {
		return false, nil
	}
	result, _, err := s.inject(t, syscall.SYS_WAIT4, uint64(pid), 0, wall|syscall.WNOHANG)
	if err == nil && result != pid && result != -int64(syscall.ECHILD) {
		err = fmt.Errorf("process %d keeps a zombie of number %d: %d", s.pid, pid, result)
	}
	return true, err
}
