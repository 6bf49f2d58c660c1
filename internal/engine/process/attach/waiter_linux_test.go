//go:build amd64 || arm64

package attach

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestWaitOf(t *testing.T) {
	process := func(fd int) int { return 40 + fd }
	for call, want := range map[string]waiter{
		"running\n":        waitsForNone,
		"":                 waitsForNone,
		"-1 0x7ffe 0x46\n": waitsForNone, // blocked outside of a system call
		fmt.Sprintf("%d 0x2d 0x7ffe 0x40000000 0x0 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAIT4):     waitsForIt,
		fmt.Sprintf("%d 0x2e 0x7ffe 0x40000000 0x0 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAIT4):     waitsForNone,
		fmt.Sprintf("%d 0x0 0x7ffe 0x0 0x0 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAIT4):             waitsForAny,
		fmt.Sprintf("%d 0xffffffd3 0x7ffe 0x0 0x0 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAIT4):      waitsForAny,
		fmt.Sprintf("%d 0xffffffffffffffff 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAIT4): waitsForAny,
		fmt.Sprintf("%d 0x3 0x5 0x7ffe 0x4 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAITID):            waitsForIt,
		fmt.Sprintf("%d 0x3 0x6 0x7ffe 0x4 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAITID):            waitsForNone,
		fmt.Sprintf("%d 0x1 0x2d 0x7ffe 0x4 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAITID):           waitsForIt,
		fmt.Sprintf("%d 0x1 0x5 0x7ffe 0x4 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAITID):            waitsForNone,
		fmt.Sprintf("%d 0x0 0x0 0x7ffe 0x4 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAITID):            waitsForAny,
		fmt.Sprintf("%d 0x2 0x2d 0x7ffe 0x4 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_WAITID):           waitsForAny,
		fmt.Sprintf("%d 0x7ffe 0x80 0x2d 0x0 0x0 0x0 0x7ffe 0x46\n", syscall.SYS_FUTEX):           waitsForNone,
	} {
		assert.Equal(t, want, waitOf(call, 45, process), call)
	}
}

// A stop that another thread was told of is the same stop.
func TestStopThatAnotherThreadTook(t *testing.T) {
	pid, _ := startSubject(t)
	tracer := newTracer()
	defer tracer.end()
	require.NoError(t, tracer.do(func() error {
		s := &stopped{pid: pid, threads: make(map[int]*thread)}
		if err := s.seize(); err != nil {
			return err
		}
		taken := func() {
			var status syscall.WaitStatus
			_, err := syscall.Wait4(pid, &status, wall, nil)
			require.NoError(t, err)
			told, changed, err := changeOf(pid)
			require.NoError(t, err)
			assert.True(t, changed)
			assert.Equal(t, fmt.Sprintf("%#x", int(status)), fmt.Sprintf("%#x", int(told)))
		}
		require.NoError(t, ptrace(ptraceInterrupt, pid, 0, 0))
		taken()
		for range 2 { // it begins a system call, and ends it
			require.NoError(t, ptrace(syscall.PTRACE_SYSCALL, pid, 0, 0))
			taken()
		}
		require.NoError(t, syscall.Kill(pid, syscall.SIGWINCH))
		require.NoError(t, ptrace(syscall.PTRACE_CONT, pid, 0, 0))
		taken()
		require.NoError(t, ptrace(syscall.PTRACE_DETACH, pid, 0, 0))
		_, changed, err := changeOf(pid)
		assert.False(t, changed, "it runs")
		return err
	}))
}
