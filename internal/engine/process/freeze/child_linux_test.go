//go:build linux && (amd64 || arm64) && go1.26

package freeze

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// withAndWithoutCloseRange runs a test for both ways in which the child closes descriptors.
func withAndWithoutCloseRange(t *testing.T, test func(t *testing.T)) {
	t.Run("close_range", test)
	t.Run("one by one", func(t *testing.T) {
		withoutCloseRange(t)
		test(t)
	})
}

func TestChildHoldsNoDescriptors(t *testing.T) {
	withAndWithoutCloseRange(t, func(t *testing.T) {
		if emulated(t) {
			t.Skip("an emulator has descriptors of its own")
		}
		nothingLeft(t)
		p := takeForTest(t)
		open := descriptors(t, strconv.Itoa(p.child.pid))
		require.Len(t, open, 2, "%v", open)
		assert.Contains(t, open["0"], "socket:")
		assert.Contains(t, open["1"], "leakgate")
	})
}

func TestPeerSeesEndOfConnection(t *testing.T) {
	withAndWithoutCloseRange(t, func(t *testing.T) {
		nothingLeft(t)
		var pipe [2]int
		require.NoError(t, syscall.Pipe2(pipe[:], syscall.O_CLOEXEC))
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		takeForTest(t)
		for _, ends := range [][2]int{pipe, pair} {
			require.NoError(t, syscall.Close(ends[1]))
			// If the child held the other end, this would block until the test times out.
			n, err := syscall.Read(ends[0], make([]byte, 1))
			require.NoError(t, err)
			assert.Zero(t, n)
			require.NoError(t, syscall.Close(ends[0]))
		}
	})
}

func TestWaitingForAnyChildIsUndisturbed(t *testing.T) {
	if emulated(t) {
		t.Skip("emulated children have an exit signal")
	}
	nothingLeft(t)
	signals := make(chan os.Signal, 100)
	signal.Notify(signals, syscall.SIGCHLD)
	defer signal.Stop(signals)

	var stop atomic.Bool
	var wg sync.WaitGroup
	var waits int
	wg.Go(func() {
		for !stop.Load() {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if !assert.ErrorIs(t, err, syscall.ECHILD, "wait4(-1) saw child %d", pid) {
				return
			}
			waits++
		}
	})
	for i := range 50 {
		p, err := Take()
		require.NoError(t, err)
		if i%2 == 0 {
			require.NoError(t, syscall.Kill(p.child.pid, syscall.SIGKILL))
		}
		time.Sleep(time.Millisecond)
		require.NoError(t, p.Close())
	}
	stop.Store(true)
	wg.Wait()
	assert.Positive(t, waits)
	assert.Empty(t, signals, "SIGCHLD")
}

func TestCommandsRunMeanwhile(t *testing.T) {
	nothingLeft(t)
	nothing := helper(t, "nothing")
	var stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	var commands atomic.Int64
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				command := exec.Command(nothing.Path)
				command.Env = nothing.Env
				out, err := command.CombinedOutput()
				if !assert.NoError(t, err, "%s", out) {
					return
				}
				commands.Add(1)
			}
		})
	}
	for range 30 {
		p, err := Take()
		require.NoError(t, err)
		got, err := p.Copy([]Range{{Addr: addressOf(&answer), Len: 8}})
		require.NoError(t, err)
		require.Len(t, got[0], 8)
		require.NoError(t, p.Close())
	}
	eventually(t, "no command ended", func() bool { return commands.Load() > 2 })
}

func TestChildKilled(t *testing.T) {
	nothingLeft(t)
	p := takeForTest(t)
	require.NoError(t, syscall.Kill(p.child.pid, syscall.SIGKILL))
	_, err := p.Copy([]Range{{Addr: addressOf(&answer), Len: 8}})
	require.ErrorIs(t, err, errChildGone)
	require.ErrorContains(t, err, "killed")
	require.ErrorContains(t, err, "raise the memory limit")
	require.ErrorIs(t, p.read(addressOf(&answer), make([]byte, 8)), errChildGone)
	require.NoError(t, p.Close())
}

// A filter that kills rather than refuses ends the child with SIGSYS.
func TestChildEndedBySignal(t *testing.T) {
	if emulated(t) {
		t.Skip("an emulator has signal handlers of its own")
	}
	for signal, want := range map[syscall.Signal]string{syscall.SIGSYS: "seccomp", syscall.SIGKILL: "memory limit"} {
		nothingLeft(t)
		p := takeForTest(t)
		c := p.child
		require.NoError(t, syscall.Kill(c.pid, syscall.SIGKILL))
		require.True(t, p.child.awaitEnd())
		p.child.status = syscall.WaitStatus(signal)
		var e *Error
		require.ErrorAs(t, p.child.gone(), &e)
		assert.Contains(t, e.Remedy, want)
	}
}

// The parent gives up a child that does not answer, kills it and reaps it.
func TestStoppedChildIsGivenUp(t *testing.T) {
	nothingLeft(t)
	p := takeForTest(t)
	pid := p.child.pid
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	_, err := p.Copy([]Range{{Addr: addressOf(&answer), Len: 8}})
	require.ErrorIs(t, err, errNoAnswer)
	require.ErrorContains(t, err, "SIGSTOP")
	require.ErrorIs(t, p.read(addressOf(&answer), make([]byte, 8)), errNoAnswer, "without another wait")
	require.NoError(t, p.Close())
	require.False(t, runs(pid))
}

// Signals to the waiting thread, each of which ends the read of the socket, do not make the wait
// longer.
func TestStoppedChildIsGivenUpAmongSignals(t *testing.T) {
	nothingLeft(t)
	defer func(n int) { maxChecksStopped = n }(maxChecksStopped)
	maxChecksStopped = 1
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := syscall.Gettid()
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ended:
				return
			case <-time.After(parentCheck * time.Second / 10):
				_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(thread), uintptr(syscall.SIGURG))
			}
		}
	}()
	p := takeForTest(t)
	require.NoError(t, syscall.Kill(p.child.pid, syscall.SIGSTOP))
	_, err := p.Copy([]Range{{Addr: addressOf(&answer), Len: 8}})
	close(ended)
	<-stopped
	require.ErrorIs(t, err, errNoAnswer)
	require.NoError(t, p.Close())
}

// The parent also gives up a child that runs but does not answer.
func TestSilentChildIsGivenUp(t *testing.T) {
	defer func(n int) { maxChecksSilent = n }(maxChecksSilent)
	maxChecksSilent = 2
	nothingLeft(t)
	silent := helper(t, "hold")
	ours, theirs, err := socketPair()
	require.NoError(t, err)
	defer closeDescriptor(theirs)
	pid, err := syscall.ForkExec(silent.Path, silent.Args, &syscall.ProcAttr{Env: silent.Env})
	require.NoError(t, err)
	c := child{pid: pid, socket: ours, control: new(control)}
	err = c.request(1)
	require.ErrorIs(t, err, errNoAnswer)
	require.ErrorContains(t, err, "no processor time")
	require.NoError(t, c.release())
	require.True(t, c.status.Signaled())
}

func TestChildReapedByOthers(t *testing.T) {
	nothingLeft(t)
	p := takeForTest(t)
	require.NoError(t, syscall.Kill(p.child.pid, syscall.SIGKILL))
	_, err := syscall.Wait4(-1, nil, syscall.WALL, nil)
	require.NoError(t, err)
	_, err = p.Copy([]Range{{Addr: addressOf(&answer), Len: 8}})
	require.ErrorIs(t, err, errChildGone)
	require.NoError(t, p.Close())
}

func TestChildStopped(t *testing.T) {
	nothingLeft(t)
	p := takeForTest(t)
	require.NoError(t, syscall.Kill(p.child.pid, syscall.SIGSTOP))
	eventually(t, "the child does not stop", func() bool {
		_, _, state := readStat("/proc/" + strconv.Itoa(p.child.pid) + "/stat")
		return state == "T"
	})
	require.NoError(t, p.Close())
}

func TestChildStoppedAndContinued(t *testing.T) {
	nothingLeft(t)
	p := takeForTest(t)
	require.NoError(t, syscall.Kill(p.child.pid, syscall.SIGSTOP))
	pid := p.child.pid
	go func() {
		// the parent checks once whether the child lives
		time.Sleep(parentCheck * 1500 * time.Millisecond)
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}()
	require.NoError(t, p.read(addressOf(&answer), make([]byte, 8)))
	time.Sleep((parentCheck + 1) * time.Second) // the child checks once whether the parent lives
	require.NoError(t, p.read(addressOf(&answer), make([]byte, 8)))
}

func TestChildIgnoresSignals(t *testing.T) {
	if emulated(t) {
		t.Skip("an emulator has signal handlers of its own")
	}
	nothingLeft(t)
	p := takeForTest(t)
	for _, s := range []syscall.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGURG, syscall.SIGPROF, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGPIPE,
	} {
		require.NoError(t, syscall.Kill(p.child.pid, s))
	}
	require.NoError(t, p.read(addressOf(&answer), make([]byte, 8)))
}

func TestChildDiesWithParent(t *testing.T) {
	for _, how := range []struct{ name, arguments string }{
		{"only", "hold"},
		// Another process keeps the parent's end of the socket, as a fork by C code would.
		{"socket inherited", "hold inherit"},
		// A second snapshot's child, forked while the first lives.
		{"two snapshots", "hold twice"},
	} {
		t.Run(how.name, func(t *testing.T) {
			nothingLeft(t)
			parent := helper(t, how.arguments)
			stdin, err := parent.StdinPipe()
			require.NoError(t, err)
			var pids []int
			for _, word := range strings.Fields(start(t, parent)) {
				pid, err := strconv.Atoi(word)
				require.NoError(t, err)
				require.True(t, runs(pid), "the child does not run")
				pids = append(pids, pid)
			}
			require.NotEmpty(t, pids)
			require.NoError(t, parent.Process.Kill())
			for _, pid := range pids {
				eventually(t, "the child outlives its parent", func() bool { return !runs(pid) })
			}
			require.NoError(t, stdin.Close()) // ends the process that inherited the socket
			require.Error(t, parent.Wait())
		})
	}
}

// holdSnapshot takes a snapshot, prints the child's process ID, and waits to be killed.
func holdSnapshot(args []string) error {
	p, err := Take()
	if err != nil {
		return err
	}
	line := strconv.Itoa(p.child.pid)
	if len(args) > 0 && args[0] == "twice" {
		second, err := Take()
		if err != nil {
			return err
		}
		line += " " + strconv.Itoa(second.child.pid)
	}
	if len(args) > 0 && args[0] == "inherit" {
		shared, err := syscall.Dup(p.child.socket)
		if err != nil {
			return err
		}
		other := exec.Command("cat") // until standard input ends
		other.Stdin = os.Stdin
		other.ExtraFiles = []*os.File{os.NewFile(uintptr(shared), "socket")}
		if err := other.Start(); err != nil {
			return err
		}
	}
	if _, err := fmt.Println(line); err != nil {
		return err
	}
	time.Sleep(5 * time.Minute)
	return errors.New("nobody killed this process")
}
