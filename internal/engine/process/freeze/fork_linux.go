//go:build linux && (amd64 || arm64)

package freeze

import "time"

// batch is how many requests fit into the control area.
const batch = 2048

// control is the page that parent and child share. It is mapped MAP_SHARED outside the Go heap
// before the fork, so that the child needs nothing else. The assembly takes the field offsets from
// go_asm.h.
type control struct {
	// Written by fork in the parent.
	pc uintptr // return address of fork
	sp uintptr // stack pointer after that return
	g  uintptr // runtime.g of the caller

	began, ended timestamp // of the clone

	flags uintptr // of the clone

	// Read by the child after the clone.
	socket     uintptr // the child's end, a descriptor >= 3
	file       uintptr // the file that the child writes its memory to, a descriptor >= 3
	closeRange uintptr // number of close_range(2); tests set a number that no kernel has
	// without close_range the child closes descriptors below this one, one by one
	closeLimit uintptr

	// Written by the child before it ends by itself: the system call that made it end, and the
	// call's result.
	call   uintptr
	result int

	requests [batch]request
}

// timestamp is the kernel's struct timespec, by CLOCK_MONOTONIC. The clock is read in fork, because
// the caller may be preempted as soon as it has returned.
type timestamp struct{ seconds, nanoseconds int64 }

func (t timestamp) duration() time.Duration {
	return time.Duration(t.seconds)*time.Second + time.Duration(t.nanoseconds)
}

// request asks the child to write a range of its memory to the file.
type request struct {
	addr, size uintptr
	offset     uintptr // in the file
	done       uintptr // bytes written
	errno      uintptr // why done < size
}

const (
	sysCloseRange = 436 // on amd64 and arm64; Linux 5.9
	messageSize   = 8   // bytes: the parent sends a number of requests; the child answers with the same number
	// after so many seconds without a message, the child checks whether its parent lives
	parentCheck   = 1
	maxDescriptor = 1 << 20
	maxWrite      = 64 << 20 // bytes that the child copies between two updates of its progress
)

// fork clones the process and returns the child's process ID, or a negative error number. The child
// does not return: it serves requests until its socket is closed.
//
// fork is assembly so that no Go code runs in the child: no stack check, no write barrier, no race
// detector call. The caller is not preempted in fork, because assembly has no safe points, and
// signals are blocked around the clone.
//
//go:noescape
func fork(c *control) int
