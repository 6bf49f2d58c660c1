package headroom

import "syscall"

// readFile reads a file of the kernel. It does not use package os, which records each file in the
// log of package testing and sets up the network poller.
func readFile(name string) (text []byte, err error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }()
	buf := make([]byte, 16<<10)
	for {
		n, err := syscall.Read(fd, buf)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return text, nil
		default:
			text = append(text, buf[:n]...)
		}
	}
}

// residentBytes is how many bytes of memory the process has; it counts what it shares, too.
func residentBytes() (bytes int64) {
	fd, err := syscall.Open("/proc/self/statm", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer func() { _ = syscall.Close(fd) }()
	var buf [128]byte
	n, _ := syscall.Read(fd, buf[:])
	field := 0 // "51200 8421 2311 ...": its size, and what of it is resident, in pages (proc(5))
	for _, c := range buf[:max(n, 0)] {
		switch {
		case c == ' ' && field == 1:
			return bytes * int64(syscall.Getpagesize())
		case c == ' ':
			field++
		case field == 1:
			bytes = 10*bytes + int64(c-'0')
		}
	}
	return 0
}

// rlimits are the limits that a process may set for itself.
type rlimits [2]syscall.Rlimit

func ownLimits() (limits rlimits) {
	_ = syscall.Getrlimit(syscall.RLIMIT_AS, &limits[0])
	_ = syscall.Getrlimit(syscall.RLIMIT_DATA, &limits[1])
	return limits
}
