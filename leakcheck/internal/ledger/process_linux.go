package ledger

import (
	"strconv"
	"syscall"

	"github.com/leakgate/leakgate/internal/procfs"
)

// A process is where resources are read from.
type process struct {
	pid    int    // 0: this process
	dir    string // its folder in /proc
	handle int    // a pidfd of another process, negative if there is none

	behindLoaded loadedSizes
}

var self = &process{dir: "/proc/self"}

// borrow returns a descriptor of this process for what a descriptor of the process is open on, and
// a function that gives it back. It is -1 if the system does not lend one.
func (p *process) borrow(fd int) (own int, back func()) {
	if p.pid == 0 {
		return fd, func() {}
	}
	const pidfdGetfd = 438 // since Linux 5.6, on all processors
	got, _, errno := syscall.Syscall(pidfdGetfd, uintptr(p.handle), uintptr(fd), 0)
	if errno != 0 {
		return -1, func() {}
	}
	return int(got), func() { _ = syscall.Close(int(got)) }
}

// Another reads what another process holds: descriptors, threads, child processes, stacks and
// mappings. It is not safe for concurrent use.
type Another struct{ of process }

// OpenAnother makes ready to read what a process holds. It takes a descriptor until Close.
func OpenAnother(pid int) *Another {
	const pidfdOpen = 434 // since Linux 5.3, on all processors
	handle, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 { // what sockets are connected to is not known, then
		return &Another{process{pid: pid, dir: "/proc/" + strconv.Itoa(pid), handle: -1}}
	}
	syscall.CloseOnExec(int(handle))
	return &Another{process{pid: pid, dir: "/proc/" + strconv.Itoa(pid), handle: int(handle)}}
}

// Take lists the resources while the process runs. stacks is how many bytes its goroutine stacks
// have, and mapped returns how many the Go runtime has mapped in it. Take returns an error if
// descriptors or threads cannot be read. Other failures are in Missing.
func (a *Another) Take(stacks int64, mapped func() (int64, error)) (*Ledger, error) {
	p := &a.of
	return p.take(p.eachChild, stacks, func(f func(name string, size int64)) error {
		var text []byte
		for try := 0; ; try++ { // the runtime may map more in between
			before, err := mapped()
			if err == nil {
				text, err = procfs.Read(p.dir+"/maps", make([]byte, 16<<10))
			}
			if err != nil {
				return err
			}
			if after, err := mapped(); err != nil || after == before || try == maxMapped {
				if err == nil {
					err = p.eachMappingIn(text, before, f)
				}
				return err
			}
		}
	})
}

// maxMapped is how often mappings are read again because the runtime has mapped more meanwhile.
const maxMapped = 5

// Close gives back the descriptor.
func (a *Another) Close() {
	if a.of.handle >= 0 {
		_ = syscall.Close(a.of.handle)
	}
}
