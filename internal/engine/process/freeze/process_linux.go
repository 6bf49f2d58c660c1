//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/realtime"
)

// Supported says whether processes can be frozen on this system.
const Supported = true

// Process is a frozen copy of this process. Its methods may be called concurrently; they take
// turns.
type Process struct {
	pc, sp, g uintptr
	pause     time.Duration
	frozen    time.Duration

	mu      sync.Mutex
	child   child
	image   arena
	control *control
	shared  []byte // the mapping that control lies in
}

// attempts bounds how often Take starts over because another goroutine changed GOMAXPROCS
// meanwhile.
const attempts = 5

// closeRangeNumber is the number of close_range(2), a variable so that tests can make the call
// fail.
var closeRangeNumber uintptr = sysCloseRange

// Take freezes the process as it is now and lets it go on. Errors are of type *Error. The caller
// must call Close.
//
// Other goroutines stand still while the kernel copies the page tables (see Pause). Afterwards
// every page that the program writes to while the frozen process lives is copied first, so call
// Release soon. Concurrent calls wait for each other.
func Take() (*Process, error) { return TakeWhen(func() bool { return true }) }

// TakeWhen is Take at a moment at which ready returns true. ready is called while no other
// goroutine runs. None runs between its last call and the fork either, unless the caller is
// preempted within these few instructions. As long as ready returns false, the other goroutines go
// on, for some seconds at most: then the error wraps ErrNotReady.
func TakeWhen(ready func() bool) (*Process, error) {
	return takeAlone(ready, func() (arena, error) {
		fd, err := openMemory()
		return arena{file: fd}, err
	})
}

// takeAlone takes a snapshot. open opens the file for the image.
func takeAlone(ready func() bool, open func() (arena, error)) (*Process, error) {
	taking.Lock()
	defer taking.Unlock()
	for range attempts {
		p, alone, err := take(ready, open)
		if err != nil {
			return nil, err
		}
		if alone {
			return p, nil
		}
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
	return nil, &Error{
		Op:     "stopping the other goroutines",
		Remedy: "do not call runtime.GOMAXPROCS during the snapshot",
		Err:    errors.New("GOMAXPROCS keeps changing"),
	}
}

// take takes one snapshot. The snapshot is consistent only if alone is true.
func take(ready func() bool, open func() (arena, error)) (_ *Process, alone bool, err error) {
	reapAbandoned()
	p := &Process{child: child{socket: -1}, image: arena{file: -1}}
	defer func() {
		if err != nil {
			_ = p.Close() // the first error is the cause
		}
	}()
	theirs, err := p.prepare(open)
	if err != nil {
		return nil, false, failed("preparing the snapshot", err)
	}
	pid, alone := p.forkReady(ready)
	closeDescriptor(theirs) // or the child's death would not close the connection
	if pid == 0 {
		return nil, false, &Error{Op: "waiting for the process to be ready", Err: ErrNotReady}
	}
	if pid < 0 {
		return nil, false, failed("forking", &remedy.Error{Call: "clone", Err: syscall.Errno(-pid)})
	}
	p.child.pid = pid
	p.child.diesFirst()
	p.pc, p.sp, p.g = p.control.pc, p.control.sp, p.control.g
	if err := p.child.receive(0); err != nil {
		return nil, false, failed("starting the frozen process", err)
	}
	return p, alone, nil
}

// prepare opens and maps all that the child needs. theirs is the descriptor of the child's end of
// the socket.
func (p *Process) prepare(open func() (arena, error)) (theirs int, err error) {
	p.shared, err = syscall.Mmap(-1, 0, int(unsafe.Sizeof(control{})),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		return -1, &remedy.Error{Call: "mmap", Err: err}
	}
	p.control = (*control)(unsafe.Pointer(unsafe.SliceData(p.shared)))
	p.child.control = p.control
	if p.image, err = open(); err != nil {
		return -1, err
	}
	p.child.socket, theirs, err = socketPair()
	if err != nil {
		return -1, err
	}
	p.control.socket = uintptr(theirs)
	p.control.file = uintptr(p.image.file)
	p.control.closeRange = closeRangeNumber
	p.control.closeLimit = descriptorLimit()
	return theirs, nil
}

// descriptorLimit returns a number above all open descriptors, unless the limit was higher earlier.
func descriptorLimit() uintptr {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxDescriptor
	}
	return uintptr(min(limit.Cur, maxDescriptor))
}

// forkReady forks at a moment when the process is ready and no other goroutine runs. pid is the
// child's process ID, a negative error number, or 0 if the process was never ready. alone is false
// if another goroutine may have run at the time of the fork.
func (p *Process) forkReady(ready func() bool) (pid int, alone bool) {
	_, alone = whenReady(ready, func() { pid = p.fork() })
	return pid, alone
}

// fork forks, and records the time and the duration of the fork.
//
//go:noinline
func (p *Process) fork() (pid int) {
	// Without flags the end of the child sends no signal, so that neither a SIGCHLD handler nor
	// wait4(-1) notices it.
	pid = fork(p.control)
	if pid == -int(syscall.EINVAL) {
		// Emulators (qemu-user 7.2, linux-user/syscall.c, do_fork) know only the usual signal.
		p.control.flags = uintptr(syscall.SIGCHLD)
		pid = fork(p.control)
	}
	if p.frozen = p.control.began.duration(); p.frozen == 0 {
		p.frozen = realtime.Clock() // a sandbox refuses the system call
		return pid
	}
	p.pause = p.control.ended.duration() - p.frozen
	return pid
}

// Caller returns where Take's goroutine was at the fork: the return address of the call that
// forked, which lies in Go code with a stack map, in a function of this package, and the stack
// pointer just after the return to it.
func (p *Process) Caller() (pc, sp uintptr) { return p.pc, p.sp }

// CallerG returns the address of the runtime.g of Take's goroutine.
func (p *Process) CallerG() uintptr { return p.g }

// PID returns the process ID of the frozen copy, for programs that inspect it through /proc. It is
// invalid after Release.
func (p *Process) PID() int { return p.child.pid }

// Pause returns how long the fork took, during which no Go code ran. It does not include the two
// stops of the world around the fork, in which GOMAXPROCS changes: together some ten microseconds,
// more with many busy goroutines. In between, goroutines take turns on one P. That takes long only
// if a collection begins just then.
func (p *Process) Pause() time.Duration { return p.pause }

// Frozen returns when the process was frozen, by the clock that the runtime's timers use:
// CLOCK_MONOTONIC (go1.26 and go1.27 runtime/sys_linux_amd64.s and sys_linux_arm64.s, nanotime1).
func (p *Process) Frozen() time.Duration { return p.frozen }

// Release ends the frozen process. Slices that Copy returned stay valid. Further calls of Copy and
// Read fail.
func (p *Process) Release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.release()
}

func (p *Process) release() error {
	err := p.child.release()
	p.control, p.child.control = nil, nil
	if p.shared != nil {
		err = errors.Join(err, syscall.Munmap(p.shared))
		p.shared = nil
	}
	if err != nil {
		return failed("release", err)
	}
	return nil
}

// Close ends the frozen process and releases all memory. Slices that Copy returned must not be used
// afterwards. Further calls do nothing.
func (p *Process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.release()
	if e := p.image.close(); e != nil {
		err = errors.Join(err, &Error{Op: "close", Err: e})
	}
	return err
}
