//go:build amd64 || arm64

package attach

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A child is a subject that another goroutine waits for.
type child struct {
	pid   int
	lines *bufio.Reader
	input io.Closer
	ended chan string
}

// ways are ways to wait for the end of a child. Each says how it ended.
var ways = map[string]func(cmd *exec.Cmd) string{
	"a pidfd": func(cmd *exec.Cmd) string { return fmt.Sprint(cmd.Wait()) },
	"wait4": func(cmd *exec.Cmd) string {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil)
		if err != nil || !status.Exited() {
			return fmt.Sprintf("status %#x, %v", int(status), err)
		}
		return fmt.Sprintf("exit status %d", status.ExitStatus())
	},
	"waitid": func(cmd *exec.Cmd) string {
		var info [32]int32 // siginfo_t: the code is the third word, the status the seventh
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, waitPID, uintptr(cmd.Process.Pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED, 0, 0)
		const exited = 1 // CLD_EXITED
		if errno != 0 || info[2] != exited {
			return fmt.Sprintf("code %d, %v", info[2], errno)
		}
		return fmt.Sprintf("exit status %d", info[6])
	},
}

// startWaited starts a subject that another goroutine waits for.
func startWaited(t *testing.T, exe, kind, way string) *child {
	t.Helper()
	cmd := exec.Command(exe, kind)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd.Process.Pid, bufio.NewReader(output), input, make(chan string, 1)}
	go func() { c.ended <- ways[way](cmd) }()
	t.Cleanup(func() { _ = syscall.Kill(c.pid, syscall.SIGKILL) })
	require.Eventually(t, func() bool { return waiting(c.pid) == waitsForIt }, 10*time.Second, time.Millisecond)
	return c
}

// look takes a copy, and requires that nobody was told of an end.
func (c *child) look(t *testing.T, options Options) {
	t.Helper()
	f, err := Take(c.pid, options)
	if err != nil && strings.Contains(err.Error(), "may not be looked into") {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Equal(t, options.NoFork, f.NotForked != "", f.NotForked)
	if len(f.Threads) < 2 || f.Threads[0].TID != c.pid || f.Threads[0].PC == 0 || f.Threads[0].SP == 0 {
		t.Errorf("threads of process %d: %+v", c.pid, f.Threads)
	}
	require.NoError(t, f.Close())
	c.lives(t)
}

func (c *child) lives(t *testing.T) {
	t.Helper()
	select {
	case how := <-c.ended:
		t.Fatalf("the wait returned: %s", how)
	default:
	}
}

// end has the child end by itself, and requires that the wait tells so.
func (c *child) end(t *testing.T) {
	t.Helper()
	c.lives(t)
	require.NoError(t, c.input.Close())
	require.Equal(t, "exit status 7", <-c.ended)
}

// A goroutine that waits for the end of a child is told of its end alone, however often the child
// is looked into.
func TestChildThatIsWaitedFor(t *testing.T) {
	exe := buildSubject(t)
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			c := startWaited(t, exe, "rest", way)
			for i := range 20 {
				c.look(t, Options{NoFork: i%4 == 3})
			}
			c.end(t)
		})
	}
}

// So is one that begins to wait at any moment.
func TestWaitThatBeginsMeanwhile(t *testing.T) {
	exe := buildSubject(t)
	for range require.Rounds(5, 50) {
		cmd := exec.Command(exe, "rest")
		input, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		c := &child{pid: cmd.Process.Pid, input: input, ended: make(chan string, 1)}
		time.AfterFunc(time.Duration(rand.Int64N(int64(20*time.Millisecond))), func() { c.ended <- fmt.Sprint(cmd.Wait()) })
		time.Sleep(5 * time.Millisecond)
		for range 10 {
			c.look(t, Options{})
		}
		c.end(t)
	}
}

// So is one for a child that ends while it is looked into.
func TestChildThatEnds(t *testing.T) {
	exe := buildSubject(t)
	for range require.Rounds(10, 100) {
		c := startWaited(t, exe, "rest", "a pidfd")
		c.look(t, Options{})
		time.AfterFunc(time.Duration(rand.Int64N(int64(20*time.Millisecond))), func() { _ = c.input.Close() })
		for err := error(nil); err == nil; {
			var f *Frozen
			if f, err = Take(c.pid, Options{}); err == nil {
				err = f.Close()
			}
		}
		require.Equal(t, "exit status 7", <-c.ended)
	}
}

// A wait for more than the child is told of the stops of all threads.
func TestChildOfAnyWait(t *testing.T) {
	cmd := exec.Command(buildSubject(t), "rest")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	ended := make(chan int, 1)
	go func() {
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(-pid, &status, 0, nil)
		ended <- status.ExitStatus()
	}()
	require.Eventually(t, func() bool { return waiting(pid) == waitsForAny }, 10*time.Second, time.Millisecond)
	_, err = Take(pid, Options{})
	require.ErrorContains(t, err, "waits for the end of any child of this process")
	require.NoError(t, input.Close())
	require.Equal(t, 7, <-ended)
}

// A main thread that never sleeps makes the process unknown, if another goroutine waits for its
// end; if none does, the thread is stopped.
func TestMainThreadThatSpins(t *testing.T) {
	c := startWaited(t, buildSubject(t), "spin", "a pidfd")
	_, err := c.lines.ReadString('\n')
	require.NoError(t, err)
	_, err = Take(c.pid, Options{})
	require.ErrorIs(t, err, errAwake)
	require.ErrorAs(t, err, new(*remedy.Unavailable))
	c.end(t)

	pid, lines := startSubject(t, "spin")
	_, err = lines.ReadString('\n')
	require.NoError(t, err)
	f, err := Take(pid, Options{})
	require.NoError(t, err)
	require.Equal(t, asideAttempts+1, f.Attempts)
	require.NoError(t, f.Close())
}

// A copy shows the process as it is while its main thread sleeps, although that is not stopped.
func TestMainThreadThatWrites(t *testing.T) {
	exe := buildSubject(t)
	rest := startWaited(t, exe, "rest", "a pidfd")
	rest.look(t, Options{})
	start := time.Now()
	rest.look(t, Options{})
	// A look fits between two writes now and then, however slow the machine is.
	pause := max(4*time.Millisecond, 2*time.Since(start))
	t.Setenv("SUBJECT_PAUSE", pause.String())
	rest.end(t)
	c := startWaited(t, exe, "write", "a pidfd")
	var at uint64
	_, err := fmt.Fscanf(c.lines, "%d\n", &at)
	require.NoError(t, err)
	attempts, copies := 0, 0
	for range require.Rounds(10, 400) {
		f, err := Take(c.pid, Options{})
		if errors.Is(err, errAwake) {
			attempts += maxAttempts
			continue
		}
		require.NoError(t, err)
		attempts += f.Attempts
		copies++
		got, err := f.Copy([]image.Range{{Addr: at, Len: 8 << 20}})
		require.NoError(t, err)
		first := binary.LittleEndian.Uint64(got[0])
		for i := 0; i < len(got[0]); i += 4096 {
			if n := binary.LittleEndian.Uint64(got[0][i:]); n != first {
				t.Fatalf("%d and %d were written at one time", first, n)
			}
		}
		require.NoError(t, f.Close())
	}
	t.Logf("%d copies of %d attempts", copies, attempts)
	require.Positive(t, copies)
	f, err := Take(c.pid, Options{NoFork: true})
	if err == nil {
		time.Sleep(2*pause + 10*time.Millisecond)
		_, err = f.Copy([]image.Range{{Addr: at, Len: 8}})
		assert.NoError(t, f.Close())
	}
	require.ErrorIs(t, err, errAwake, "memory that is read while the main thread sleeps and wakes")
	c.end(t)
}

// A child that was stopped before stays so.
func TestStoppedChild(t *testing.T) {
	c := startWaited(t, buildSubject(t), "rest", "a pidfd")
	state := func(want string) func() bool {
		return func() bool {
			list, err := tids(c.pid)
			for _, tid := range list {
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", c.pid, tid))
				if !strings.Contains(string(stat), ") "+want+" ") {
					return false
				}
			}
			return err == nil
		}
	}
	require.Eventually(t, func() bool {
		call, _ := callOf(c.pid)
		return strings.HasPrefix(call, fmt.Sprintf("%d 0x0 ", syscall.SYS_READ))
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, syscall.Kill(c.pid, syscall.SIGSTOP))
	require.Eventually(t, state("T"), 10*time.Second, time.Millisecond)
	f, err := Take(c.pid, Options{})
	if runtime.GOARCH == "arm64" {
		// The kernel forgets the system call of a thread that stops (linux
		// arch/arm64/kernel/signal.c, do_signal), so the thread does not seem to sleep.
		require.ErrorIs(t, err, errAwake)
	} else {
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	require.Eventually(t, state("T"), 10*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	require.True(t, state("T")(), "it goes on")
	c.lives(t)
	require.NoError(t, syscall.Kill(c.pid, syscall.SIGCONT))
	c.look(t, Options{})
	c.end(t)
}

// parent is the environment variable that makes this test binary start a subject, wait for its end
// and look into it without an end.
const parent = "LEAKGATE_TEST_PARENT_OF"

func TestMain(m *testing.M) {
	if exe := os.Getenv(parent); exe != "" {
		cmd := exec.Command(exe, "rest")
		cmd.Stdin = os.Stdin
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		go func() { panic(cmd.Wait()) }()
		for waiting(cmd.Process.Pid) != waitsForIt {
			time.Sleep(time.Millisecond)
		}
		fmt.Println(cmd.Process.Pid)
		for {
			// No thread is made to call clone, since none has a way back: see TestWayBack.
			f, err := Take(cmd.Process.Pid, Options{NoFork: true})
			if err != nil {
				panic(err)
			}
			if err := f.Close(); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

// A test may be killed while its child is stopped: the child goes on, and another process can look
// into it.
func TestKilledParent(t *testing.T) {
	exe := buildSubject(t)
	self, err := os.Executable()
	require.NoError(t, err)
	for range require.Rounds(10, 100) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), parent+"="+exe)
		cmd.Stderr = os.Stderr
		hold, input, err := os.Pipe() // the input of the child, which ends with this test
		require.NoError(t, err)
		cmd.Stdin = hold
		output, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		require.NoError(t, hold.Close())
		line, err := bufio.NewReader(output).ReadString('\n')
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(t, err)
		time.Sleep(10*time.Millisecond + time.Duration(rand.Int64N(int64(20*time.Millisecond))))
		require.NoError(t, cmd.Process.Kill())
		require.ErrorContains(t, cmd.Wait(), "killed")
		f, err := Take(pid, Options{})
		if err != nil && strings.Contains(err.Error(), "may not be looked into") {
			t.Skip(err)
		}
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.True(t, f.NotForked == "", "it was stopped: %s", f.NotForked)
		require.NoError(t, input.Close())
		require.Eventually(t, func() bool { state := statusOf(pid)["State"]; return state == "" || state[0] == 'Z' }, 10*time.Second, time.Millisecond, "it does not go on")
	}
}
