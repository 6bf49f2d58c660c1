//go:build amd64 || arm64

package refscan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// limitVariable makes TestUnderLimit run under one of limits, in a process of its own: limits and
// filters cannot be taken back.
const limitVariable = "LEAKGATE_TEST_LIMIT"

// A limit is a restriction by the system. An assertion under it has the verdict unknown, with a
// remedy.
type limit struct {
	// set applies the limit; the function that it returns is called between the capture and the
	// scan.
	set  func() (between func(*refscan.Snapshot) error, err error)
	want []string // parts of the error; none if the capture works all the same
	// first applies the limit before anything about the process is read, such as its debug
	// information.
	first bool
	// inPlace: it works all the same if the process is copied in place, which needs no fork.
	inPlace bool
	// forked: the limit concerns only a process that is forked.
	forked bool
	// hidden is a folder that is hidden from the process in a mount namespace of its own.
	hidden string
}

// by is the limit as it applies to one way of freezing the process, "" for the default.
func (l limit) by(way string) limit {
	if l.inPlace && way == "" {
		l.want = nil
	}
	return l
}

var limits = map[string]limit{
	"fork forbidden":      {inPlace: true, set: refused(progtest.NoProcesses(syscall.EPERM)), want: []string{"clone: ", "seccomp"}},
	"no writing":          {inPlace: true, set: refused(progtest.Refusal{Number: syscall.SYS_PWRITE64, Errno: syscall.EPERM}), want: []string{"pwrite64 ", "seccomp"}},
	"no room":             {inPlace: true, set: refused(progtest.Refusal{Number: syscall.SYS_PWRITE64, Errno: syscall.ENOSPC}), want: []string{"pwrite64 ", "--shm-size"}},
	"no clock":            {set: refused(progtest.Refusal{Number: syscall.SYS_CLOCK_GETTIME, Errno: syscall.EPERM})},
	"no madvise":          {inPlace: true, set: refused(progtest.Refusal{Number: syscall.SYS_MADVISE, Errno: syscall.EPERM}), want: []string{"madvise ", "seccomp"}},
	"no memfd":            {set: refused(progtest.Refusal{Number: progtest.MemfdCreate, Errno: syscall.EPERM})},
	"file size":           {inPlace: true, set: limited(syscall.RLIMIT_FSIZE, 1<<20), want: []string{"ulimit -f"}},
	"address space":       {set: beyond(syscall.RLIMIT_AS, "VmSize", 40<<20), want: []string{"(ulimit -v) leaves", "raise ulimit -v to"}},
	"data":                {set: beyond(syscall.RLIMIT_DATA, "VmData", 40<<20), want: []string{"(ulimit -d) leaves", "raise ulimit -d to"}},
	"descriptors":         {inPlace: true, set: limited(syscall.RLIMIT_NOFILE, 0), want: []string{"ulimit -n"}},
	"left out of forks":   {forked: true, set: advised(10), want: []string{"madvise(MADV_DONTFORK)", "RDMA"}},
	"wiped on fork":       {forked: true, set: advised(18), want: []string{"madvise(MADV_WIPEONFORK)", "RDMA"}},
	"child killed":        {forked: true, set: signalled(syscall.SIGKILL), want: []string{"killed", "raise the memory limit"}},
	"child stopped":       {forked: true, set: signalled(syscall.SIGSTOP), want: []string{"does not answer", "SIGSTOP", "do not stop"}},
	"no limit whatsoever": {set: unlimited},
	"docker's profile":    {set: refused(containerRefusals()...)},
	"huge pages":          {set: hugePages},
	"no /proc":            {set: unlimited, hidden: "/proc"},
	"no /proc at first":   {set: unlimited, hidden: "/proc", first: true, want: []string{"/proc"}},
}

func unlimited() (func(*refscan.Snapshot) error, error) { return nil, nil }

func refused(refusals ...progtest.Refusal) func() (func(*refscan.Snapshot) error, error) {
	return func() (func(*refscan.Snapshot) error, error) {
		for _, r := range refusals {
			if err := r.Install(); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}

// containerRefusals are the system calls that Docker's profile (github.com/moby/profiles,
// seccomp/default.json) refuses to a container without more rights, as far as a program that
// inspects processes and memory might need them: new namespaces, calls into other processes,
// mounts, and placement of memory. ptrace is among them, as on old kernels.
func containerRefusals() (list []progtest.Refusal) {
	for _, number := range []uintptr{
		syscall.SYS_UNSHARE, progtest.Setns, syscall.SYS_MOUNT, syscall.SYS_UMOUNT2, syscall.SYS_PIVOT_ROOT, syscall.SYS_CHROOT,
		syscall.SYS_PTRACE, progtest.ProcessVMReadv, progtest.ProcessVMWritev, progtest.Kcmp, progtest.Userfaultfd,
		progtest.PidfdGetfd, progtest.ProcessMadvise, syscall.SYS_PERF_EVENT_OPEN, syscall.SYS_PERSONALITY,
		syscall.SYS_MBIND, syscall.SYS_SET_MEMPOLICY, syscall.SYS_GET_MEMPOLICY, syscall.SYS_MOVE_PAGES, syscall.SYS_SYSLOG,
		syscall.SYS_ADD_KEY, syscall.SYS_KEYCTL, syscall.SYS_REQUEST_KEY, syscall.SYS_ACCT, syscall.SYS_SWAPON, syscall.SYS_REBOOT,
	} {
		list = append(list, progtest.Refusal{Number: number, Errno: syscall.EPERM})
	}
	// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET
	const namespaces = 0x7e02_0000
	return append(list,
		progtest.Refusal{Number: syscall.SYS_CLONE, Errno: syscall.EPERM, Mask: namespaces},
		progtest.Refusal{Number: progtest.Clone3, Errno: syscall.ENOSYS})
}

func limited(resource int, n uint64) func() (func(*refscan.Snapshot) error, error) {
	return func() (func(*refscan.Snapshot) error, error) {
		// The hard limit stays: package os puts the soft one of descriptors back.
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return nil, err
		}
		now.Cur = n
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(resource), uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		if errno != 0 {
			return nil, errno
		}
		return nil, nil
	}
}

// beyond limits a figure of /proc/self/status to its present value and more. more has to leave room
// for a few threads, for whose stacks of 8 MiB pthread_create asks under the race detector: without
// them the runtime of the race detector ends the process.
func beyond(resource int, figure string, more uint64) func() (func(*refscan.Snapshot) error, error) {
	return func() (func(*refscan.Snapshot) error, error) {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return nil, err
		}
		_, now, _ := strings.Cut(string(status), figure+":")
		kb, err := strconv.ParseUint(strings.Fields(now)[0], 10, 64)
		if err != nil {
			return nil, err
		}
		return limited(resource, kb<<10+more)()
	}
}

var advisedHeap []*[1 << 16]*byte

func advised(advice int) func() (func(*refscan.Snapshot) error, error) {
	return func() (func(*refscan.Snapshot) error, error) {
		// Each of 512 KiB, which is a span of its own.
		for range 8 {
			a := new([1 << 16]*byte)
			for i := range a {
				a[i] = new(byte)
			}
			advisedHeap = append(advisedHeap, a)
		}
		middle := unsafe.Slice((*byte)(unsafe.Pointer(advisedHeap[4])), unsafe.Sizeof(*advisedHeap[4]))
		return nil, syscall.Madvise(middle, advice)
	}
}

// hugePages makes the kernel put the whole Go heap into huge pages, as it does with all memory
// where transparent_hugepage/enabled is "always". Where the kernel cannot, the heap stays as it is.
func hugePages() (func(*refscan.Snapshot) error, error) {
	const (
		hugePage = 2 << 20
		collapse = 25 // MADV_COLLAPSE, Linux 6.1
	)
	for i := range 1 << 18 {
		hugeList = &hugeNode{next: hugeList, index: i}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	heap := uintptr(unsafe.Pointer(hugeList))
	for line := range strings.Lines(string(maps)) {
		var start, end uintptr
		if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err != nil {
			return nil, err
		}
		if start > heap || heap >= end {
			continue
		}
		for start = (start + hugePage - 1) &^ (hugePage - 1); start+hugePage <= end; start += hugePage {
			_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, start, hugePage, collapse)
		}
	}
	return nil, nil
}

type hugeNode struct {
	next  *hugeNode
	index int
}

var hugeList *hugeNode

func signalled(signal syscall.Signal) func() (func(*refscan.Snapshot) error, error) {
	return func() (func(*refscan.Snapshot) error, error) {
		return func(s *refscan.Snapshot) error {
			if err := syscall.Kill(s.PID(), signal); err != nil {
				return err
			}
			return s.ReadAnew()
		}, nil
	}
}

func TestLimits(t *testing.T) {
	scan(t) // does the slow work first, such as reading debug information
	self, err := os.Executable()
	require.NoError(t, err)
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			if limit.inPlace || limit.forked {
				t.Run("fork", func(t *testing.T) { underLimit(t, self, name, "fork") })
			}
			if !limit.forked {
				underLimit(t, self, name, "")
			}
		})
	}
}

// underLimit runs TestUnderLimit in a process of its own.
func underLimit(t *testing.T, self, name, way string) {
	limit := limits[name].by(way)
	// A guard against hanging, not a measurement.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestUnderLimit$", "-test.v")
	cmd.Env = append(os.Environ(), limitVariable+"="+name, "LEAKGATE_FREEZE="+way)
	if limit.hidden != "" {
		cmd.SysProcAttr = mountNamespace()
	}
	out, err := cmd.CombinedOutput()
	if _, why, ok := strings.Cut(string(out), notHidden); limit.hidden != "" && (ok || errors.Is(err, syscall.EPERM)) {
		why, _, _ = strings.Cut(why, "\n")
		t.Skip("the system permits no mounts of the test's own: ", why, err)
	}
	require.NoError(t, err, "%s", out)
	_, result, ok := strings.Cut(string(out), "result: ")
	require.True(t, ok, "%s", out)
	result, _, _ = strings.Cut(result, "\n---")
	if len(limit.want) == 0 {
		assert.Equal(t, "<nil>", result)
	}
	for _, want := range limit.want {
		assert.Contains(t, result, want)
	}
	assert.NotContains(t, result, "report")
	assert.NotContains(t, result, "internal error")
}

// TestUnderLimit is what TestLimits runs. It fails if the attempt leaves a process, a descriptor or
// a file behind.
func TestUnderLimit(t *testing.T) {
	limit, ok := limits[os.Getenv(limitVariable)]
	if !ok {
		return // it is run by TestLimits
	}
	limit = limit.by(os.Getenv("LEAKGATE_FREEZE"))
	begun := time.Now()
	if !limit.first {
		scan(t) // opens what stays open
	}
	unhindered := time.Since(begun)
	// The first timer takes descriptors, without which the runtime ends the process (go1.26
	// runtime/time.go, maybeAdd; netpoll_epoll.go).
	time.Sleep(time.Millisecond)
	before := openFiles(t)
	between, err := limit.set()
	require.NoError(t, err)
	reveal := hideFolder(t, limit.hidden)
	begun = time.Now()
	err = attempt(between)
	took := time.Since(begun)
	reveal()
	syscall.Write(1, fmt.Appendf(nil, "result: %v\n---\n", err))
	if len(limit.want) > 0 {
		// Waits take at most 4 s; the rest depends on the speed of the machine at this time.
		require.LessOrEqual(t, took, 5*time.Second+20*unhindered)
	}
	var u *refscan.UnavailableError
	if len(limit.want) > 0 {
		require.ErrorAs(t, err, &u)
		require.NotEmpty(t, u.Remedy)
	}
	_, err = syscall.Wait4(-1, nil, syscall.WNOHANG|syscall.WALL, nil)
	require.ErrorIs(t, err, syscall.ECHILD, "a child was left behind")
	var now syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now))
	if now.Cur > 0 {
		require.LessOrEqual(t, openFiles(t), before, "descriptors")
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if now.Cur > 0 {
		require.NoError(t, err)
	}
	require.Zero(t, bytes.Count(maps, []byte("memfd:leakgate")), "mappings")
}

// mountNamespace gives a process a mount namespace of its own, in which it is superuser.
func mountNamespace() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// notHidden is printed where hideFolder is refused.
const notHidden = "it cannot be hidden: "

// hideFolder puts an empty folder in place of another, in this process's mount namespace.
func hideFolder(t *testing.T, folder string) (reveal func()) {
	if folder == "" {
		return func() {}
	}
	err := errors.Join(
		syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), // it stays among us
		syscall.Mount("tmpfs", folder, "tmpfs", 0, ""),
	)
	if err != nil {
		t.Skip(notHidden, err)
	}
	return func() { require.NoError(t, syscall.Unmount(folder, 0)) }
}

func attempt(between func(*refscan.Snapshot) error) (err error) {
	s, err := refscan.Capture()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if between != nil {
		if err := between(s); err != nil {
			return err
		}
	}
	if _, err = s.Scan(); err != nil {
		return err
	}
	_, err = refscan.CaptureStacks()
	return err
}
