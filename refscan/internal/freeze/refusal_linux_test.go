//go:build linux && (amd64 || arm64)

package freeze

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a seccomp filter, a limit or an old kernel refuses is played by a seccomp filter in a
// process of its own: it cannot be taken off again.
func TestRefusedSystemCalls(t *testing.T) {
	tests := []struct {
		name   string
		number uintptr
		errno  syscall.Errno
		want   string // part of the error; "" if the snapshot works all the same
	}{
		{"fork forbidden", syscall.SYS_CLONE, syscall.EPERM, "seccomp"},
		{"too many processes", syscall.SYS_CLONE, syscall.EAGAIN, "pids limit"},
		{"overcommit refused", syscall.SYS_CLONE, syscall.ENOMEM, "vm.overcommit_memory"},
		{"no socket", syscall.SYS_SOCKETPAIR, syscall.EMFILE, "too many open files"},
		{"no memfd", sysMemfdCreate, syscall.ENOSYS, ""},
		{"no close_range", sysCloseRange, syscall.ENOSYS, ""},
		{"close_range forbidden", sysCloseRange, syscall.EPERM, ""},
		{"no writing by offset", syscall.SYS_PWRITE64, syscall.EPERM, "writing 8 bytes"},
		{"no dup3", syscall.SYS_DUP3, syscall.EPERM, "the frozen process is gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := helper(t, fmt.Sprintf("refuse %d %d", tt.number, int(tt.errno)))
			cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir())
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err, "%s", out)
			if tt.want == "" {
				assert.Equal(t, "no error\n", string(out))
			} else {
				assert.Contains(t, string(out), tt.want)
			}
		})
	}
}

// takeUnderFilter forbids a system call and prints what a snapshot then says. It fails if the
// attempt leaves anything behind.
func takeUnderFilter(args []string) error {
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	errno, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(3)
	if err := refuse(uint32(number), uint32(errno)); err != nil {
		return err
	}
	before, err := openDescriptors()
	if err != nil {
		return err
	}
	for range 3 {
		err = takeAndCopy()
	}
	if err == nil {
		fmt.Println("no error")
	} else {
		fmt.Println(err)
	}
	after, err := openDescriptors()
	if err != nil {
		return err
	}
	if !maps.Equal(before, after) {
		return fmt.Errorf("descriptors: %v, then %v", before, after)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WALL|syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		return fmt.Errorf("wait4: child %d, %v", pid, err)
	}
	if n := runtime.GOMAXPROCS(0); n != 3 {
		return fmt.Errorf("GOMAXPROCS is %d", n)
	}
	return nil
}

// The child's descriptors are 0 and 1, which the parent's may be as well.
func TestStandardFilesClosed(t *testing.T) {
	out, err := helper(t, "bare").Output()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "done\n", string(out))
}

func takeWithoutStandardFiles([]string) error {
	stdout, err := syscall.Dup(1)
	if err != nil {
		return err
	}
	for fd := range 3 {
		if err := syscall.Close(fd); err != nil {
			return err
		}
	}
	for range 2 {
		if err = takeAndCopy(); err != nil {
			break
		}
	}
	for fd := range 3 {
		if e := syscall.Close(fd); e != syscall.EBADF {
			err = errors.Join(err, fmt.Errorf("descriptor %d is left open (%v)", fd, e))
		}
	}
	message := "done\n"
	if err != nil {
		message = err.Error()
	}
	_, err = syscall.Write(stdout, []byte(message))
	return err
}

func takeAndCopy() error {
	p, err := Take()
	if err != nil {
		return err
	}
	got, err := p.Copy([]Range{{Addr: addressOf(&answer), Len: 8}})
	if err == nil && (len(got[0]) != 8 || got[0][0] != 42) {
		err = fmt.Errorf("copied %v", got)
	}
	return errors.Join(err, p.Close())
}

// openDescriptors returns the files behind the first descriptors.
func openDescriptors() (map[int]string, error) {
	open := make(map[int]string)
	for fd := range 100 {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(fd)))
		switch {
		case err == nil:
			open[fd] = target
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		}
	}
	return open, nil
}

// refuse makes a system call fail in all threads; of clone only the kind that makes processes.
func refuse(number, errno uint32) error {
	const (
		loadWord  = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
		jumpEqual = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
		jumpSet   = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
		result    = syscall.BPF_RET | syscall.BPF_K

		numberOffset   = 0  // struct seccomp_data, nr
		argumentOffset = 16 // args[0], low half

		allow  = 0x7fff_0000 // SECCOMP_RET_ALLOW
		refuse = 0x0005_0000 // SECCOMP_RET_ERRNO

		setNoNewPrivileges = 38 // prctl
		setFilter          = 1  // SECCOMP_SET_MODE_FILTER
		allThreads         = 1  // SECCOMP_FILTER_FLAG_TSYNC
	)
	threads := uint32(0) // a jump that is never taken
	if number == syscall.SYS_CLONE {
		threads = syscall.CLONE_THREAD
	}
	program := []syscall.SockFilter{
		{Code: loadWord, K: numberOffset},
		{Code: jumpEqual, Jf: 3, K: number},
		{Code: loadWord, K: argumentOffset},
		{Code: jumpSet, Jt: 1, K: threads},
		{Code: result, K: refuse | errno},
		{Code: result, K: allow},
	}
	filter := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0); e != 0 {
		return fmt.Errorf("prctl: %w", e)
	}
	if _, _, e := syscall.RawSyscall(sysSeccomp, setFilter, allThreads, uintptr(unsafe.Pointer(&filter))); e != 0 {
		return fmt.Errorf("seccomp: %w", e)
	}
	return nil
}
