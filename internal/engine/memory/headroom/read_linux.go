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

// rlimits are the limits that a process may set for itself.
type rlimits [2]syscall.Rlimit

func ownLimits() (limits rlimits) {
	_ = syscall.Getrlimit(syscall.RLIMIT_AS, &limits[0])
	_ = syscall.Getrlimit(syscall.RLIMIT_DATA, &limits[1])
	return limits
}
