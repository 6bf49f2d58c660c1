//go:build amd64 || arm64

package attach

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// Requests, options and events of ptrace(2) that package syscall does not name.
const (
	ptraceGetSiginfo = 0x4202
	ptraceSeize      = 0x4206
	ptraceInterrupt  = 0x4207
	ptraceSetSigmask = 0x420b
	ptraceGetSigmask = 0x420a
	ptraceGetRegset  = 0x4204
	ptraceSetRegset  = 0x4205

	optionSysGood    = 1
	optionTraceClone = 8
	optionExitKill   = 1 << 20

	eventClone = 3
	eventStop  = 128

	noteStatus = 1 // NT_PRSTATUS
	wall       = 0x40000000
)

// errStill says that a thread did not stop in time.
var errStill = errors.New("a thread does not stop")

// ptrace does a request. Pointers in addr and data are to be converted where it is called.
//
//go:uintptrescapes
func ptrace(request, tid int, addr, data uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// stopped is a process whose threads are stopped, or are to be stopped. Its methods must be called
// on the thread that made it.
type stopped struct {
	pid     int
	threads map[int]*thread
	code    instructions
	// see Options
	signalStack func(sp uint64) (lo, hi uint64)

	aside  bool  // the main thread is left aside: see aside_linux.go
	asleep sleep // of the main thread, since lull
}

// thread is a thread of such a process.
type thread struct {
	tid     int
	stopped bool
	plain   bool           // an interrupt, and nothing else, has stopped it
	signal  syscall.Signal // a signal that was about to be delivered, to be passed on
	regs    general
}

// traced lists the threads that are to be stopped.
func (s *stopped) traced() ([]int, error) {
	list, err := tids(s.pid)
	if err == nil && s.aside {
		list = slices.DeleteFunc(list, func(tid int) bool { return tid == s.pid })
		if len(list) == 0 {
			return nil, errAwake
		}
	}
	return list, err
}

// tids lists the threads of a process.
func tids(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, len(entries))
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, tid)
		}
	}
	sort.Ints(out)
	return out, nil
}

// seize begins to trace all threads, and threads that these make from then on. It stops none.
func (s *stopped) seize() error {
	for {
		list, err := s.traced()
		if err != nil {
			return err
		}
		before := len(s.threads)
		for _, tid := range list {
			if s.threads[tid] != nil {
				continue
			}
			err := ptrace(ptraceSeize, tid, 0, optionSysGood|optionTraceClone)
			// A thread that a traced one has made is traced already.
			if err == nil || err == syscall.EPERM && len(s.threads) > 0 {
				s.threads[tid] = &thread{tid: tid}
			} else if err != syscall.ESRCH {
				return err
			}
		}
		if len(s.threads) == before {
			if before == 0 {
				return syscall.ESRCH
			}
			return nil
		}
	}
}

// stop stops all threads, including threads that are made meanwhile.
func (s *stopped) stop(deadline time.Time) error {
	for _, t := range s.threads {
		_ = ptrace(ptraceInterrupt, t.tid, 0, 0)
	}
	for spins := 0; ; spins++ {
		still := 0
		for _, t := range s.threads {
			if !t.stopped && !s.poll(t) {
				still++
			}
		}
		if still == 0 {
			list, err := s.traced()
			if err != nil {
				return err
			}
			for _, tid := range list {
				if s.threads[tid] == nil {
					s.threads[tid] = &thread{tid: tid}
					still++
				}
			}
		}
		switch {
		case len(s.threads) == 0:
			return syscall.ESRCH
		case still == 0:
			return nil
		case time.Now().After(deadline):
			return errStill
		}
		rest(spins)
	}
}

// rest lets others run between two looks at a thread that stops soon, or does not.
func rest(spins int) {
	if spins > 1000 {
		time.Sleep(100 * time.Microsecond)
	} else {
		runtime.Gosched()
	}
}

// poll checks for a change of a thread's state, and reports whether the thread has stopped or
// ended.
func (s *stopped) poll(t *thread) bool {
	status, changed, err := changeOf(t.tid)
	switch {
	case err == syscall.ECHILD: // it has ended, or was made just before its maker was traced
		if ptrace(ptraceSeize, t.tid, 0, optionSysGood|optionTraceClone) != nil {
			delete(s.threads, t.tid)
			return true
		}
		_ = ptrace(ptraceInterrupt, t.tid, 0, 0)
		return false
	case err != nil || !changed:
		return false
	}
	return s.note(t, status)
}

// changeOf returns the status of a thread that has stopped or ended, if it has. The kernel reports
// a stop once, to whichever thread of this process waits for the thread, such as one of
// os/exec.(*Cmd).Wait: what such a thread has taken is told by why the thread is stopped (linux
// kernel/exit.c, wait_task_stopped; kernel/signal.c, ptrace_do_notify).
func changeOf(tid int) (status syscall.WaitStatus, changed bool, err error) {
	got, err := syscall.Wait4(tid, &status, wall|syscall.WNOHANG, nil)
	if err == syscall.EINTR {
		err = nil
	}
	if err != nil || got == tid {
		return status, err == nil, err
	}
	var why struct { // siginfo_t, of 128 bytes
		signal, errno, code int32
		_                   [116]byte
	}
	if ptrace(ptraceGetSiginfo, tid, 0, uintptr(unsafe.Pointer(&why))) != nil {
		return 0, false, nil // it runs
	}
	if why.signal == int32(syscall.SIGTRAP) && (why.code>>8 != 0 || why.code == why.signal|0x80) {
		return syscall.WaitStatus(why.code<<8 | 0x7f), true, nil // an event, or a system call
	}
	return syscall.WaitStatus(why.signal<<8 | 0x7f), true, nil
}

// note records a wait status of a thread, and reports whether the thread has stopped or ended.
func (s *stopped) note(t *thread, status syscall.WaitStatus) bool {
	if !status.Stopped() {
		delete(s.threads, t.tid)
		return true
	}
	event := int(status) >> 16
	t.stopped, t.plain = true, event == eventStop && status.StopSignal() == syscall.SIGTRAP
	if event == 0 && status.StopSignal()&^0x80 != syscall.SIGTRAP {
		t.signal = status.StopSignal()
	}
	return true
}

// registers reads the registers of all threads, as far as they are known.
func (s *stopped) registers() ([]goruntime.Thread, error) {
	layout := goruntime.RegisterLayouts[runtime.GOARCH]
	var out []goruntime.Thread
	var buf [16 << 10]byte
	for _, t := range s.threads {
		var err error
		if t.regs, err = registersOf(t.tid); err != nil {
			return nil, fmt.Errorf("%w: its registers cannot be read: %w", errStill, err)
		}
		b := t.regs.bytes()
		gr, ok := layout.General(t.tid, b)
		if !ok {
			return nil, fmt.Errorf("a thread has registers of %d bytes", len(b))
		}
		if b, err := regset(t.tid, int(layout.VectorNote), buf[:]); err == nil {
			layout.Vectors(&gr, b)
		}
		out = append(out, gr)
	}
	if s.aside {
		main, ok := s.asleep.thread(s.pid)
		if !ok {
			return nil, errAwake
		}
		out = append(out, main)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].TID < out[j].TID })
	return out, nil
}

func regset(tid, note int, buf []byte) ([]byte, error) {
	v := syscall.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	err := ptrace(ptraceGetRegset, tid, uintptr(note), uintptr(unsafe.Pointer(&v)))
	return buf[:min(v.Len, uint64(len(buf)))], err
}

// general are the general registers of a thread.
type general syscall.PtraceRegs

func (g *general) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(g)), unsafe.Sizeof(*g)) }

// registersOf reads the general registers of a stopped thread.
func registersOf(tid int) (g general, err error) {
	b, err := regset(tid, noteStatus, g.bytes())
	if err == nil && len(b) < len(g.bytes()) {
		err = fmt.Errorf("a thread has registers of %d bytes", len(b))
	}
	return g, err
}

// setRegisters sets the general registers of a stopped thread.
func setRegisters(tid int, g *general) error {
	b := g.bytes()
	v := syscall.Iovec{Base: &b[0], Len: uint64(len(b))}
	return ptrace(ptraceSetRegset, tid, noteStatus, uintptr(unsafe.Pointer(&v)))
}

// detach lets all stopped threads go on, with the signals that were about to be delivered. The
// other threads go on when the tracer's thread ends.
func (s *stopped) detach() {
	for _, t := range s.threads {
		if t.stopped {
			_ = ptrace(syscall.PTRACE_DETACH, t.tid, 0, uintptr(t.signal))
			t.stopped = false
		}
	}
}
