//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// Process is a frozen copy of this process. Its methods may be called concurrently; they take turns.
type Process struct {
	pc, sp, g uintptr
	pause     time.Duration

	mu      sync.Mutex
	child   child
	image   arena
	control *control
	shared  []byte // the mapping that control lies in
	scratch window // what Read reads through
}

// taking keeps snapshots apart: two that change GOMAXPROCS at once would put back each other's setting.
var taking sync.Mutex

// attempts bounds how often Take starts over because another goroutine changed GOMAXPROCS meanwhile.
const attempts = 5

// closeRangeNumber is the number of close_range(2), a variable so that tests can do without the call.
var closeRangeNumber uintptr = sysCloseRange

// Take freezes the process as it is now and lets it go on. Errors are of type *Error. The caller
// must call Close.
//
// Other goroutines stand still while the kernel copies the page tables (see Pause). Afterwards every
// page that the program writes to while the frozen process lives is copied first, so call Release
// soon. Concurrent calls wait for each other.
func Take() (*Process, error) {
	taking.Lock()
	defer taking.Unlock()
	for range attempts {
		p, alone, err := take()
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

// take makes one snapshot. It is not consistent unless alone.
func take() (_ *Process, alone bool, err error) {
	p := &Process{child: child{socket: -1}, image: arena{file: -1}}
	defer func() {
		if err != nil {
			_ = p.Close() // the first error is the cause
		}
	}()
	theirs, err := p.prepare()
	if err != nil {
		return nil, false, &Error{Op: "preparing the snapshot", Err: err}
	}
	pid, alone := p.forkAlone()
	closeDescriptor(theirs) // or the child's death would not close the connection
	if pid < 0 {
		return nil, false, forkError(syscall.Errno(-pid))
	}
	p.child.pid = pid
	p.child.volunteer()
	p.pc, p.sp, p.g = p.control.pc, p.control.sp, p.control.g
	if err := p.child.receive(); err != nil {
		return nil, false, &Error{Op: "starting the frozen process", Err: err}
	}
	return p, alone, nil
}

// prepare opens and maps all that the child needs. The descriptor is the child's end of the socket.
func (p *Process) prepare() (theirs int, err error) {
	p.shared, err = syscall.Mmap(-1, 0, int(unsafe.Sizeof(control{})),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		return -1, fmterr.Errorf("mmap: %w", err)
	}
	p.control = (*control)(unsafe.Pointer(unsafe.SliceData(p.shared)))
	if p.image.file, err = openMemory(); err != nil {
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

// descriptorLimit returns a number that no open descriptor reaches, unless the limit was higher once.
func descriptorLimit() uintptr {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxDescriptor
	}
	return uintptr(min(limit.Cur, maxDescriptor))
}

// forkAlone forks while no other goroutine runs. The result is the child's process ID, or a
// negative error number; alone is false if another goroutine may have run at the time after all.
//
//go:noinline
func (p *Process) forkAlone() (pid int, alone bool) {
	restore := useOneProcessor()
	defer restore()
	// No flags: the child's end sends no signal, so that neither a SIGCHLD handler nor wait4(-1)
	// notices it.
	pid = fork(p.control)
	if pid == -int(syscall.EINVAL) {
		// Emulators (qemu-user 7.2, linux-user/syscall.c, do_fork) know only the usual signal.
		p.control.flags = uintptr(syscall.SIGCHLD)
		pid = fork(p.control)
	}
	p.pause = p.control.ended.duration() - p.control.began.duration()
	return pid, runtime.GOMAXPROCS(0) == 1
}

func forkError(errno syscall.Errno) error {
	e := &Error{Op: "fork", Err: errno}
	switch errno {
	case syscall.ENOMEM:
		e.Remedy = "the kernel does not promise memory for a copy-on-write copy of this process: " +
			"set vm.overcommit_memory to 0 or 1, or raise the memory limit"
	case syscall.EAGAIN:
		e.Remedy = "the limit on processes is reached: raise ulimit -u or the container's pids limit"
	case syscall.EPERM, syscall.EACCES, syscall.ENOSYS:
		e.Remedy = "a seccomp filter or sandbox forbids clone: allow it for the test process"
	}
	return e
}

// Caller returns where Take's goroutine was at the fork: the return address of the call that
// forked, which lies in Go code with a stack map, in a function of this package, and the stack
// pointer just after the return to it.
func (p *Process) Caller() (pc, sp uintptr) { return p.pc, p.sp }

// CallerG returns the address of the runtime.g of Take's goroutine.
func (p *Process) CallerG() uintptr { return p.g }

// PID returns the process ID of the frozen copy, for who looks at it from outside (/proc). It is of no use after Release.
func (p *Process) PID() int { return p.child.pid }

// Pause returns how long the fork took, during which nothing of Go ran. Not counted are the two
// stops of the world around it, in which GOMAXPROCS changes: together some ten microseconds, more
// with many busy goroutines. In between, goroutines take turns on one P, which is for long only if
// a collection begins just then.
func (p *Process) Pause() time.Duration { return p.pause }

// Release ends the frozen process. What Copy returned stays valid. Copy and Read fail from here on.
func (p *Process) Release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.release()
}

func (p *Process) release() error {
	p.child.release()
	p.control = nil
	if p.shared == nil {
		return nil
	}
	err := syscall.Munmap(p.shared)
	p.shared = nil
	if err != nil {
		return &Error{Op: "release", Err: err}
	}
	return nil
}

// Close ends the frozen process and gives back all memory; what Copy returned must not be touched any
// more. Further calls do nothing.
func (p *Process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.release()
	p.scratch = window{}
	if e := p.image.close(); e != nil {
		err = errors.Join(err, &Error{Op: "close", Err: e})
	}
	return err
}
