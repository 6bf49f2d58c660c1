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
	"strings"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// refusals are system calls that a seccomp filter, a limit or an old kernel may refuse. The test
// refuses them by a seccomp filter in a process of its own, since a filter cannot be removed.
var refusals = map[string]struct {
	progtest.Refusal
	want []string // parts of the error; none if the snapshot works all the same
}{
	"fork forbidden":         {progtest.NoProcesses(syscall.EPERM), []string{"clone: ", "seccomp"}},
	"fork unknown":           {progtest.NoProcesses(syscall.ENOSYS), []string{"clone: ", "seccomp"}},
	"fork of another kind":   {progtest.NoProcesses(syscall.EINVAL), []string{"clone: ", "imitates"}},
	"too many processes":     {progtest.NoProcesses(syscall.EAGAIN), []string{"clone: ", "pids-limit"}},
	"overcommit refused":     {progtest.NoProcesses(syscall.ENOMEM), []string{"clone: ", "raise the memory limit"}},
	"no socket":              {call(syscall.SYS_SOCKETPAIR, syscall.EMFILE), []string{"socketpair: ", "ulimit -n"}},
	"sockets forbidden":      {call(syscall.SYS_SOCKETPAIR, syscall.EPERM), []string{"socketpair: ", "seccomp"}},
	"no socket options":      {call(syscall.SYS_SETSOCKOPT, syscall.EPERM), []string{"setsockopt (SO_RCVTIMEO): ", "seccomp"}},
	"no messages":            {call(syscall.SYS_SENDMSG, syscall.EPERM), []string{"sendmsg ", "seccomp"}},
	"no memfd":               {call(progtest.MemfdCreate, syscall.ENOSYS), nil},
	"memfds used up":         {call(progtest.MemfdCreate, syscall.EMFILE), []string{"memfd_create: ", "ulimit -n"}},
	"no size for a file":     {call(syscall.SYS_FTRUNCATE, syscall.EPERM), []string{"ftruncate ", "seccomp"}},
	"file size":              {call(syscall.SYS_FTRUNCATE, syscall.EFBIG), []string{"ftruncate ", "ulimit -f"}},
	"no shared mapping":      {progtest.NoSharedMappings(syscall.EPERM), []string{"mmap: ", "seccomp"}},
	"no memory to map":       {progtest.NoSharedMappings(syscall.ENOMEM), []string{"mmap: ", "ulimit -v"}},
	"no madvise":             {call(syscall.SYS_MADVISE, syscall.EPERM), []string{"madvise (MADV_DONTFORK): ", "seccomp"}},
	"an old madvise":         {call(syscall.SYS_MADVISE, syscall.EINVAL), []string{"madvise (MADV_DONTFORK): ", "2.6.16"}},
	"no close_range":         {call(progtest.CloseRange, syscall.ENOSYS), nil},
	"close_range forbidden":  {call(progtest.CloseRange, syscall.EPERM), nil},
	"no writing by offset":   {call(syscall.SYS_PWRITE64, syscall.EPERM), []string{"writing 8 bytes", "pwrite64 ", "seccomp"}},
	"no room for the image":  {call(syscall.SYS_PWRITE64, syscall.ENOSPC), []string{"pwrite64 ", "--shm-size"}},
	"no memory for it":       {call(syscall.SYS_PWRITE64, syscall.ENOMEM), []string{"pwrite64 ", "raise the memory limit"}},
	"image too large":        {call(syscall.SYS_PWRITE64, syscall.EFBIG), []string{"pwrite64 ", "ulimit -f"}},
	"no dup3":                {call(syscall.SYS_DUP3, syscall.EPERM), []string{"dup3 (in the frozen process): ", "seccomp"}},
	"no parent to ask after": {call(syscall.SYS_GETPPID, syscall.EPERM), nil},
	"no clock":               {call(syscall.SYS_CLOCK_GETTIME, syscall.EPERM), nil},
}

func call(number uintptr, errno syscall.Errno) progtest.Refusal {
	return progtest.Refusal{Number: number, Errno: errno}
}

func TestRefusedSystemCalls(t *testing.T) {
	for name, tt := range refusals {
		t.Run(name, func(t *testing.T) {
			cmd := helper(t, "refuse "+strings.ReplaceAll(name, " ", "-"))
			cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir())
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err, "%s", out)
			if len(tt.want) == 0 {
				assert.Equal(t, "no error\n", string(out))
			}
			for _, want := range tt.want {
				assert.Contains(t, string(out), want)
			}
			assert.NotContains(t, string(out), "report")
		})
	}
}

// Without memfd_create and without a folder that accepts files there is no image.
func TestNoPlaceForTheImage(t *testing.T) {
	cmd := helper(t, "refuse no-memfd")
	cmd.Env = append(cmd.Env, "TMPDIR=/proc/self/none", noSharedMemory+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "memfd_create: function not implemented, and no temporary file either")
	assert.Contains(t, string(out), "TMPDIR) writable")
}

// noSharedMemory is an environment variable of a helper: with it the helper does not use /dev/shm.
const noSharedMemory = "LEAKGATE_FREEZE_NO_SHM"

// takeUnderFilter forbids a system call and prints the result of a snapshot. It fails if the
// attempt leaves anything behind.
func takeUnderFilter(args []string) error {
	if os.Getenv(noSharedMemory) != "" {
		imageFolders = imageFolders[:0]
	}
	runtime.GOMAXPROCS(3)
	r, w, err := os.Pipe() // opens the network poller, which stays
	if err = errors.Join(err, r.Close(), w.Close()); err != nil {
		return err
	}
	if err := refusals[strings.ReplaceAll(args[0], "-", " ")].Install(); err != nil {
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

// The child uses descriptors 0 and 1; the parent's descriptors may have these numbers, too.
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
	if p.Frozen() <= 0 {
		err = errors.Join(err, fmt.Errorf("frozen at %v", p.Frozen()))
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
