//go:build amd64 || arm64

package attach

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// If the tracer of a thread ends while the thread does an injected system call, the thread goes on
// as before, wherever in the call it is.
func TestWayBack(t *testing.T) {
	pid, lines := startSubject(t)
	var tid int
	var lo, hi uint64
	_, err := fmt.Fscanf(lines, "%d %d %d\n", &tid, &lo, &hi)
	require.NoError(t, err)
	for range 5 {
		for _, call := range [][]uint64{{syscall.SYS_CLONE, copyFlags, noStack}, {syscall.SYS_GETPID}} {
			for steps := range 4 {
				said := abandon(t, pid, tid, lo, hi, steps, call)
				if said != nil && strings.Contains(said.Error(), "operation not permitted") {
					t.Skip(said)
				}
				require.NoError(t, said)
				require.Eventually(t, func() bool { return !blocksSignals(pid, tid) }, 10*time.Second, time.Millisecond, "after %d steps of call %d", steps, call[0])
				for range 3 {
					line, err := lines.ReadString('\n')
					require.NoError(t, err, "after %d steps of call %d", steps, call[0])
					require.NotContains(t, line, "damaged")
				}
			}
		}
	}
}

// blocksSignals reports whether a thread blocks any signals.
func blocksSignals(pid, tid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	return !strings.Contains(string(b), "\nSigBlk:\t0000000000000000\n")
}

// abandon makes a thread of a process begin a system call, runs it for steps stops, and then ends
// the tracer.
func abandon(t *testing.T, pid, tid int, lo, hi uint64, steps int, call []uint64) error {
	t.Helper()
	tracer := newTracer()
	defer tracer.end()
	return tracer.do(func() error {
		code, err := find(pid)
		if err != nil {
			return err
		}
		s := &stopped{pid: pid, threads: make(map[int]*thread), code: code, signalStack: func(sp uint64) (uint64, uint64) {
			if lo < sp && sp <= hi {
				return 0, 0
			}
			return lo, hi
		}}
		if err := s.seize(); err != nil {
			return err
		}
		if err := s.stop(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		if _, err := s.registers(); err != nil {
			return err
		}
		thread := s.threads[tid]
		regs := thread.regs
		var mask, all uint64 = 0, ^uint64(0)
		if err := ptrace(ptraceGetSigmask, tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); err != nil {
			return err
		}
		back, err := s.restoreCode(thread, regs, mask)
		if err != nil {
			s.detach() // the thread is in a signal handler
			return nil
		}
		regs.callOf(code, back, call[0], call[1:])
		err = errors.Join(setRegisters(tid, &regs), ptrace(ptraceSetSigmask, tid, unsafe.Sizeof(all), uintptr(unsafe.Pointer(&all))))
		for i := 0; i < steps && err == nil; i++ {
			_, err = s.next(thread, syscall.PTRACE_SYSCALL)
		}
		return err
	})
}
