//go:build unix

package procfs

import (
	"os"
	"syscall"
)

// Read reads a file of the kernel into buf, which it grows if need be. It does without package os,
// which records each file that a test opens, and would set up the network poller for it.
func Read(name string, buf []byte) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer syscall.Close(fd)
	buf = buf[:cap(buf)]
	for n := 0; ; {
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf)+4096)...)
		}
		got, err := syscall.Read(fd, buf[n:])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		case got == 0:
			return buf[:n], nil
		default:
			n += got
		}
	}
}
