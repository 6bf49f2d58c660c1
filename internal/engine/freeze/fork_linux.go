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
	file       uintptr // where it writes its memory, a descriptor >= 3
	closeRange uintptr // number of close_range(2); tests set one that no kernel has
	// descriptors below this one are closed one by one if there is no close_range
	closeLimit uintptr

	// Written by the child before it ends by itself: the call that ended it, and what that
	// returned.
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
	messageSize   = 8   // a number of requests one way, the same number back when they are done
	// seconds after which a child that hears nothing looks whether its parent lives
	parentCheck   = 1
	maxDescriptor = 1 << 20
	maxWrite      = 64 << 20 // bytes that the child copies before the parent sees that it gets on
)

// fork clones the process and returns the child's process ID, or a negative error number. The child
// does not return: it serves requests until its socket is closed.
//
// It is assembly so that nothing of Go runs in the child: no stack check, no write barrier, no race
// detector call. The caller is not preempted in it, because assembly has no safe points, and
// signals are blocked around the clone.
//
//go:noescape
func fork(c *control) int
