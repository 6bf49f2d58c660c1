//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/realtime"
)

// child is the parent's view of the frozen process: a process ID and a socket.
type child struct {
	pid     int // 0 once it is reaped
	socket  int // this process's end; -1 once closed
	control *control

	status  syscall.WaitStatus // how it ended, once it is reaped by this process
	reaped  bool               // whether status is known
	stopped bool               // by a signal or a tracer, at the last check
	failure error              // why no request can be served any more
}

var (
	// errChildGone says that the child has ended for a reason other than release: a user or the
	// kernel killed it.
	errChildGone = errors.New("the frozen process is gone")
	// errNoAnswer says that the child lives but does not answer.
	errNoAnswer = errors.New("the frozen process does not answer")
)

// How often the parent checks a child that does not answer, once in parentCheck seconds, before it
// gives up. Variables, so that tests need not wait.
var (
	maxChecksStopped = 4 // for a stopped child, which does nothing until somebody continues it
	// for a running child, which copies maxWrite bytes in this time even if memory is swapped
	maxChecksSilent = 20
)

// socketPair returns the two ends of a message socket, with descriptors of at least 3. Reads at
// each end time out regularly, to check whether the other process still lives: its death closes the
// connection, unless a third process (a fork by C code) has inherited that end.
//
// It is a socket rather than a pair of pipes because shutdown works even then, and because writing
// to a dead child need not raise SIGPIPE.
func socketPair() (ours, theirs int, err error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, &remedy.Error{Call: "socketpair", Err: err}
	}
	var errs []error
	for i, fd := range ends {
		ends[i], err = aboveStandard(fd)
		errs = append(errs, err)
		if err == nil {
			wait := syscall.Timeval{Sec: parentCheck}
			if err := syscall.SetsockoptTimeval(ends[i], syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &wait); err != nil {
				errs = append(errs, &remedy.Error{Call: "setsockopt", For: "SO_RCVTIMEO", Err: err})
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		for _, fd := range ends {
			closeDescriptor(fd)
		}
		return -1, -1, err
	}
	return ends[0], ends[1], nil
}

// request makes the child carry out the first n requests of the control area, and waits until it
// has done so. After an error, further calls return the same error.
func (c *child) request(n int) error {
	if c.failure != nil {
		return c.failure
	}
	if c.failure = c.send(n); c.failure == nil {
		c.failure = c.receive(n)
	}
	return c.failure
}

func (c *child) send(n int) error {
	message := uint64(n)
	buf := unsafe.Slice((*byte)(unsafe.Pointer(&message)), messageSize)
	for {
		_, err := syscall.SendmsgN(c.socket, buf, nil, nil, syscall.MSG_NOSIGNAL)
		switch err {
		case nil:
			return nil
		case syscall.EINTR:
		case syscall.EPIPE, syscall.ECONNRESET, syscall.ENOTCONN:
			return c.gone()
		default:
			return &remedy.Error{Call: "sendmsg", For: "asking the frozen process", Err: err}
		}
	}
}

// receive waits for the child's next message, which answers n requests, or for the child's end. It
// gives up on a child that makes no progress.
func (c *child) receive(n int) error {
	var buf [messageSize]byte
	looks, before := 0, c.progress(n)
	looked := realtime.Clock()
	for {
		got, err := syscall.Read(c.socket, buf[:])
		switch {
		case err == nil && got == messageSize:
			return nil
		case err == nil:
			return c.gone()
		case err == syscall.EINTR && realtime.Clock()-looked < parentCheck*time.Second:
			// A signal ends the call, whatever the flags of its handler, and with it the time limit
			// of the socket: one that is sent more often would keep the parent waiting for ever.
		case err == syscall.EAGAIN, err == syscall.EINTR:
			looked = realtime.Clock()
			if c.reap(syscall.WNOHANG | syscall.WUNTRACED | syscall.WCONTINUED) {
				return c.gone()
			}
			if now := c.progress(n); now != before {
				looks, before = 0, now
			}
			if looks++; c.stopped && looks >= maxChecksStopped || looks >= maxChecksSilent {
				return c.noAnswer(looks * parentCheck)
			}
		case err == syscall.ECONNRESET:
			return c.gone()
		default:
			return &remedy.Error{Call: "read", For: "the answer of the frozen process", Err: err}
		}
	}
}

// progress returns a number that changes while the child carries out n requests.
func (c *child) progress(n int) (done uintptr) {
	for i := range n {
		r := &c.control.requests[i]
		done += r.done + r.errno
	}
	return done
}

func (c *child) noAnswer(seconds int) error {
	e := &Error{Op: "waiting for the frozen process", Err: fmt.Errorf("%w for %d seconds", errNoAnswer, seconds)}
	if c.stopped {
		e.Err = fmt.Errorf("%w: it is stopped, by a signal (SIGSTOP) or a debugger", errNoAnswer)
		e.Remedy = "do not stop or trace the child processes of the test while an assertion runs"
	} else {
		e.Remedy = "it gets no processor time or its memory is being swapped: run less beside the test, or raise the memory limit (memory.high)"
	}
	return e
}

// gone returns an error that says how the child ended.
func (c *child) gone() error {
	c.awaitEnd()
	if c.control.call != 0 && c.control.result < 0 {
		err := &remedy.Error{Call: callName(c.control.call), For: "in the frozen process", Err: syscall.Errno(-c.control.result)}
		return fmt.Errorf("%w: %w", errChildGone, err)
	}
	if !c.reaped || !c.status.Signaled() {
		return &Error{Op: "asking the frozen process", Err: errChildGone, Remedy: "do not end the child processes of the test while an assertion runs"}
	}
	e := &Error{Op: "asking the frozen process", Err: fmt.Errorf("%w: %v", errChildGone, c.status.Signal())}
	switch c.status.Signal() {
	case syscall.SIGKILL:
		e.Remedy = "the kernel kills it first when memory runs out: raise the memory limit of the container, or let the test keep less; " +
			"if there is memory enough, do not kill the child processes of the test"
	case syscall.SIGSYS:
		e.Remedy = "a seccomp filter kills it: allow dup3, close_range, read, write, pwrite64 and getppid for the test process"
	default:
		e.Remedy = "do not send signals to the child processes of the test while an assertion runs"
	}
	return e
}

func callName(number uintptr) string {
	switch number {
	case syscall.SYS_DUP3:
		return "dup3"
	case syscall.SYS_WRITE:
		return "write"
	case syscall.SYS_READ:
		return "read"
	}
	return "system call " + strconv.Itoa(int(number))
}

// release ends the child and reaps it. The shutdown alone ends a healthy child; the kill is for a
// stopped one. The process ID cannot pass to another process while the child is unreaped. release
// first checks that it is, because this process may wait for all children, clones included.
func (c *child) release() error {
	if c.socket >= 0 {
		// fails if the child has closed its end
		_ = syscall.Shutdown(c.socket, syscall.SHUT_RDWR)
		closeDescriptor(c.socket)
		c.socket = -1
	}
	if c.pid == 0 || c.reap(syscall.WNOHANG) {
		return nil
	}
	_ = syscall.Kill(c.pid, syscall.SIGKILL)
	if !c.awaitEnd() {
		abandoned.Lock()
		defer abandoned.Unlock()
		abandoned.children = append(abandoned.children, &child{pid: c.pid, socket: -1})
		c.pid = 0
		return fmt.Errorf("the frozen process was killed and has not ended in %v", maxEnding)
	}
	return nil
}

// maxEnding bounds the wait for a child that is ending: a child that hangs in the kernel (a dead
// NFS server) cannot be killed.
const maxEnding = 10 * time.Second

// awaitEnd waits for a child that is ending, and reports whether it has ended. It does not sleep by
// package time: that would set up the network poller, and would not wait in a bubble of
// testing/synctest.
func (c *child) awaitEnd() bool {
	wait := 20 * time.Microsecond
	for deadline := realtime.Clock() + maxEnding; !c.reap(syscall.WNOHANG); wait = min(2*wait, 20*time.Millisecond) {
		if realtime.Clock() >= deadline {
			return false
		}
		pause := syscall.NsecToTimespec(int64(wait))
		_ = syscall.Nanosleep(&pause, nil) // a signal makes it shorter
	}
	return true
}

// abandoned are children that did not end in time. The next snapshot reaps those that have ended.
var abandoned struct {
	sync.Mutex
	children []*child
}

func reapAbandoned() {
	abandoned.Lock()
	defer abandoned.Unlock()
	var left []*child
	for _, c := range abandoned.children {
		if !c.reap(syscall.WNOHANG) {
			left = append(left, c)
		}
	}
	abandoned.children = left
}

// reap checks the child's state by wait4 with options, and reports whether it has ended. The child
// has no exit signal, hence __WALL.
func (c *child) reap(options int) bool {
	for c.pid != 0 {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(c.pid, &status, options|syscall.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD: someone else has reaped it
			c.pid = 0
		case pid != c.pid:
			return false
		case status.Stopped() || status.Continued():
			c.stopped = status.Stopped()
		default:
			c.pid, c.status, c.reaped = 0, status, true
		}
	}
	return true
}

// diesFirst makes the child the first process to be killed when memory runs out: it is worth less
// than the program under test. On a system that does not allow it, nothing else is lost. (Package
// os would set up the network poller, which shows in the program's descriptors.)
func (c *child) diesFirst() {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(c.pid)+"/oom_score_adj", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err == nil {
		_, _ = syscall.Write(fd, []byte("1000"))
		closeDescriptor(fd)
	}
}

func closeDescriptor(fd int) {
	if fd >= 0 {
		_ = syscall.Close(fd)
	}
}
