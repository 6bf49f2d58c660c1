//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// child is the frozen process as its parent sees it: a process ID and a socket.
type child struct {
	pid    int // 0 once it is reaped
	socket int // this process's end; -1 once closed
}

// errChildGone is the child's end for a reason other than release: killed by a user or the kernel.
var errChildGone = errors.New("the frozen process is gone")

// socketPair returns the two ends of a message socket, with descriptors of at least 3. The ends
// wake up from time to time to see whether the other side still lives: its death closes the
// connection, unless a third process (a fork by C code) has inherited that end.
//
// It is a socket rather than a pair of pipes because shutdown works even then, and because writing
// to a dead child need not raise SIGPIPE.
func socketPair() (ours, theirs int, err error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fmterr.Errorf("socketpair: %w", err)
	}
	var errs []error
	for i, fd := range ends {
		ends[i], err = aboveStandard(fd)
		errs = append(errs, err)
		if err == nil {
			wait := syscall.Timeval{Sec: parentCheck}
			errs = append(errs, syscall.SetsockoptTimeval(ends[i], syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &wait))
		}
	}
	if err := errors.Join(errs...); err != nil {
		for _, fd := range ends {
			closeDescriptor(fd)
		}
		return -1, -1, fmterr.Errorf("socketpair: %w", err)
	}
	return ends[0], ends[1], nil
}

// request makes the child carry out the first n requests of the control area, and waits until it has.
func (c *child) request(n int) error {
	if err := c.send(n); err != nil {
		return err
	}
	return c.receive()
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
		default:
			return fmterr.Errorf("%w (%w)", errChildGone, err)
		}
	}
}

// receive waits for the child's next message, or for its end.
func (c *child) receive() error {
	var buf [messageSize]byte
	for {
		n, err := syscall.Read(c.socket, buf[:])
		switch {
		case err == nil && n == messageSize:
			return nil
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if c.reap(syscall.WNOHANG) {
				return errChildGone
			}
		case err == nil:
			return errChildGone
		default:
			return fmterr.Errorf("%w (%w)", errChildGone, err)
		}
	}
}

// release ends the child and reaps it. The shutdown alone ends a healthy one; the kill is for one
// that is stopped. The ID cannot have passed to another process as long as the child is unreaped,
// which is checked first, because this process may wait for all children, clones included.
func (c *child) release() {
	if c.socket >= 0 {
		_ = syscall.Shutdown(c.socket, syscall.SHUT_RDWR) // fails if the child closed its end already
		closeDescriptor(c.socket)
		c.socket = -1
	}
	if c.pid != 0 && !c.reap(syscall.WNOHANG) {
		_ = syscall.Kill(c.pid, syscall.SIGKILL)
		c.reap(0)
	}
}

// reap waits for the child's end, as long as the options say, and tells whether it has ended. The
// child has no exit signal, hence __WALL.
func (c *child) reap(options int) bool {
	for c.pid != 0 {
		pid, err := syscall.Wait4(c.pid, nil, options|syscall.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil, pid == c.pid: // an error is ECHILD: someone else has reaped it
			c.pid = 0
		default:
			return false
		}
	}
	return true
}

// volunteer makes the child the first to be killed when memory runs out: it is worth less than the
// program under test. A system that does not allow it loses nothing else. (Package os would set up
// the network poller, which shows in the program's descriptors.)
func (c *child) volunteer() {
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
