//go:build amd64 || arm64

package foreign_test

import (
	"bufio"
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/foreign"
)

// open opens a running subject. Where a container forbids ptrace, it skips the test.
func open(t *testing.T, pid int, opts ...foreign.ProcessOption) *foreign.Process {
	t.Helper()
	p, err := foreign.OpenProcess(context.Background(), pid, opts...)
	if err != nil && strings.Contains(err.Error(), "may not be looked into") {
		t.Skipf("ptrace is not permitted here: %v", err)
	}
	require.NoError(t, err)
	return p
}

func scanAndClose(t *testing.T, p *foreign.Process) *refscan.Report {
	t.Helper()
	r, err := p.Scan()
	require.NoError(t, err)
	require.NoError(t, p.Close())
	return r
}

// unharmed checks that a snapshot has left no trace in a process: it lives, untraced, with no
// child.
func unharmed(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, 0))
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
	require.NoError(t, err)
	require.NotEmpty(t, tasks)
	for _, task := range tasks {
		status, err := os.ReadFile(task + "/status")
		if os.IsNotExist(err) {
			continue // it has ended
		}
		require.NoError(t, err)
		require.Contains(t, string(status), "TracerPid:\t0\n")
		require.NotContains(t, string(status), "State:\tt", "stopped by a tracer")
		children, _ := os.ReadFile(task + "/children")
		require.Empty(t, string(children), "children")
	}
}

func TestProcess(t *testing.T) {
	exe := build(t)
	cmd, _ := start(t, exe, "1000")
	pid := cmd.Process.Pid
	for name, opts := range map[string][]foreign.ProcessOption{
		"forked":  nil,
		"stopped": {foreign.WithoutFork()},
		"by file": {foreign.WithExecutable(exe)},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, pid, opts...)
			require.Equal(t, name == "stopped", p.NotForked != "", p.NotForked)
			checkReport(t, scanAndClose(t, p), 1000)
			require.Positive(t, p.Paused())
			require.NoError(t, p.Close(), "again")
			unharmed(t, pid)
		})
	}
	t.Run("of another program", func(t *testing.T) {
		_, err := foreign.OpenProcess(context.Background(), pid, foreign.WithExecutable(build(t, "-ldflags=-X main.unused=1")))
		require.ErrorContains(t, err, "do not belong together")
	})
}

// Which packages are the program's is told by the program's modules, not by those of this one.
func TestModulesOfProcess(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "shop")
	cmd := exec.Command("go", "build", "-o", exe, ".")
	cmd.Dir, cmd.Env = filepath.Join("testdata", "undotted"), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	server, _ := start(t, exe)
	for _, n := range scanAndClose(t, open(t, server.Process.Pid)).Roots {
		if n.Name == "main.each.$temporary" {
			require.Equal(t, "[]*shop/store.Session", n.Type)
			return
		}
	}
	t.Error("nothing is held by the loop's copy of the list")
}

func TestOpenProcessRefuses(t *testing.T) {
	_, err := foreign.OpenProcess(context.Background(), 1<<22+1)
	require.ErrorContains(t, err, "there is no process 4194305")
	require.ErrorAs(t, err, new(*refscan.UnavailableError))

	sleep := exec.Command("sleep", "100")
	require.NoError(t, sleep.Start())
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}()
	self, err := os.Executable()
	require.NoError(t, err)
	isItself := func() bool { // for a moment the child still runs this program
		exe, err := os.Readlink("/proc/" + strconv.Itoa(sleep.Process.Pid) + "/exe")
		return err == nil && exe != self
	}
	require.Eventually(t, isItself, 10*time.Second, time.Millisecond)
	_, err = foreign.OpenProcess(context.Background(), sleep.Process.Pid)
	require.ErrorContains(t, err, "is no program that can be looked into")
}

// kinds are ways to build and run the subject.
var kinds = map[string]func(t *testing.T) (pid int, opts []foreign.ProcessOption){
	"default": func(t *testing.T) (int, []foreign.ProcessOption) { return startBusy(t, build(t)), nil },
	"pie": func(t *testing.T) (int, []foreign.ProcessOption) {
		return startBusy(t, build(t, "-buildmode=pie")), nil
	},
	"cgo": func(t *testing.T) (int, []foreign.ProcessOption) {
		needProgram(t, "cc")
		return startBusy(t, build(t, "-tags=calls")), nil
	},
	"cgo, static": func(t *testing.T) (int, []foreign.ProcessOption) {
		needProgram(t, "cc")
		return startBusy(t, build(t, "-tags=calls", "-ldflags=-linkmode=external -extldflags=-static")), nil
	},
	"stripped": func(t *testing.T) (int, []foreign.ProcessOption) {
		needProgram(t, "strip")
		exe := build(t)
		stripped := filepath.Join(t.TempDir(), "stripped")
		out, err := exec.Command("strip", "-o", stripped, exe).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return startBusy(t, stripped), []foreign.ProcessOption{foreign.WithExecutable(exe)}
	},
	"in a pid namespace": func(t *testing.T) (int, []foreign.ProcessOption) {
		unshare := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}
		if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("no namespace may be made here: %v: %s", err, out)
		}
		cmd, _ := startBy(t, unshare, build(t), "5000", "busy")
		outer := strconv.Itoa(cmd.Process.Pid)
		b, err := os.ReadFile("/proc/" + outer + "/task/" + outer + "/children")
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		require.NoError(t, err)
		return pid, nil
	},
}

func startBusy(t *testing.T, exe string) int {
	t.Helper()
	cmd, _ := start(t, exe, "5000", "busy")
	return cmd.Process.Pid
}

func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
}

// isLong reports whether everything is to be tried often enough to see rare events.
func isLong() bool { return os.Getenv("LEAKGATE_LONG") != "" }

// Whatever a program does when it is stopped, everything that it keeps is found, and it continues.
func TestBusyProcess(t *testing.T) {
	require.Slow(t)
	rounds := 16
	if isLong() {
		rounds = 100
	}
	for name, start := range kinds {
		t.Run(name, func(t *testing.T) {
			pid, exe := start(t)
			phases := make(map[string]int)
			for i := range rounds {
				opts := exe
				if i%8 == 7 {
					opts = append(opts[:len(opts):len(opts)], foreign.WithoutFork())
				}
				p := open(t, pid, opts...)
				r := scanAndClose(t, p)
				phases[r.Stopped.Phase]++
				phases["interrupted"] += r.Stopped.Interrupted
				phases["attempts"] += p.Attempts
				phases["lost"] += r.Stopped.Lost
				r.Stopped.Lost = 0 // there may be some where reading was tried again and again
				checkReport(t, r, 5000)
				unharmed(t, pid)
			}
			t.Logf("%v", phases)
		})
	}
}

// A blocking system call continues where a stop interrupted it.
func TestNoInterruptedSystemCall(t *testing.T) {
	subject := exec.Command(build(t), "10")
	var out bytes.Buffer
	subject.Stdout = &out
	require.NoError(t, subject.Start())
	defer func() {
		_ = subject.Process.Kill()
		_ = subject.Wait()
	}()
	require.Eventually(t, func() bool { return sleeps(subject.Process.Pid) }, 10*time.Second, time.Millisecond)
	for range 5 {
		scanAndClose(t, open(t, subject.Process.Pid))
	}
	_ = subject.Process.Kill()
	_ = subject.Wait()
	require.Equal(t, "ready 26\n", out.String())
}

// sleeps reports whether a thread of a process is in nanosleep. The scheduler chooses the thread.
func sleeps(pid int) bool {
	calls, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/syscall")
	return slices.ContainsFunc(calls, func(file string) bool {
		b, _ := os.ReadFile(file)
		return strings.HasPrefix(string(b), strconv.Itoa(syscall.SYS_NANOSLEEP)+" ")
	})
}

// looker is the environment variable that makes this test binary take a snapshot of a process, and
// keep it open.
const looker = "LEAKGATE_TEST_LOOK_INTO"

func TestMain(m *testing.M) {
	if pid, err := strconv.Atoi(os.Getenv(looker)); err == nil {
		var opts []foreign.ProcessOption
		if os.Getenv(looker+"_STOPPED") != "" {
			opts = append(opts, foreign.WithoutFork())
		}
		p, err := foreign.OpenProcess(context.Background(), pid, opts...)
		if err != nil {
			_, _ = os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString("open\n")
		time.Sleep(time.Hour)
		_ = p.Close()
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// stateOf is the letter of a process's state, "" if it is gone: t while a tracer has stopped it, Z
// when it has ended.
func stateOf(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(b), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// If a process with a snapshot of another is killed, the copy ends with it, and the other process
// continues.
func TestKilledWhileLooking(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	exe := build(t)
	for _, mode := range []string{"", "stopped"} {
		t.Run("mode "+mode, func(t *testing.T) {
			subject, _ := start(t, exe, "1000", "busy")
			pid := strconv.Itoa(subject.Process.Pid)
			look := exec.Command(self)
			look.Env = append(os.Environ(), looker+"="+pid, looker+"_STOPPED="+mode)
			stdout, err := look.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, look.Start())
			line, err := bufio.NewReader(stdout).ReadString('\n')
			require.NoError(t, err)
			if strings.Contains(line, "may not be looked into") {
				t.Skip(line)
			}
			require.Equal(t, "open\n", line)
			require.Equal(t, mode != "", stateOf(pid) == "t", "the process stands still")
			copies := copiesOf(t, pid)
			if mode == "" {
				require.Len(t, copies, 1)
			}
			require.NoError(t, look.Process.Kill())
			_ = look.Wait()
			goesOn := func() bool {
				for _, c := range copies {
					if s := stateOf(c); s != "" && s != "Z" {
						return false
					}
				}
				s := stateOf(pid)
				return s != "t" && s != "Z" && s != ""
			}
			require.Eventually(t, goesOn, 10*time.Second, time.Millisecond)
			// Another snapshot can be taken of it, and its contents are as before.
			r := scanAndClose(t, open(t, subject.Process.Pid))
			r.Stopped.Lost = 0
			checkReport(t, r, 1000)
		})
	}
}

// A process that takes a snapshot may be killed at any moment: the other process continues, no copy
// of it stays, and another snapshot can be taken.
func TestKilledAtAnyMoment(t *testing.T) {
	require.Slow(t)
	self, err := os.Executable()
	require.NoError(t, err)
	subject, _ := start(t, build(t), "1000", "busy")
	pid := strconv.Itoa(subject.Process.Pid)
	rounds := 20
	if isLong() {
		rounds = 200
	}
	whole := lookUntilKilled(t, self, pid, time.Hour)
	for range rounds {
		lookUntilKilled(t, self, pid, time.Duration(rand.Int64N(int64(whole+whole/4))))
		require.Eventually(t, func() bool { s := stateOf(pid); return s != "t" && s != "T" }, 10*time.Second, time.Millisecond)
		require.NotEqual(t, "Z", stateOf(pid), "the process has ended")
		for _, c := range copiesOf(t, pid) {
			require.Eventually(t, func() bool { s := stateOf(c); return s == "" || s == "Z" }, 10*time.Second, time.Millisecond)
		}
	}
	r := scanAndClose(t, open(t, subject.Process.Pid))
	r.Stopped.Lost = 0
	checkReport(t, r, 1000)
}

// lookUntilKilled starts a process that takes a snapshot of another one. It kills it after a time,
// or when it has its copy, and returns how long that was.
func lookUntilKilled(t *testing.T, self, pid string, after time.Duration) time.Duration {
	t.Helper()
	look := exec.Command(self)
	look.Env = append(os.Environ(), looker+"="+pid)
	stdout, err := look.StdoutPipe()
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, look.Start())
	kill := time.AfterFunc(after, func() { _ = look.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		if strings.Contains(line, "may not be looked into") {
			t.Skip(line)
		}
		require.Equal(t, "open\n", line)
	}
	took := time.Since(began)
	if kill.Stop() || err != nil {
		_ = look.Process.Kill()
	}
	_ = look.Wait()
	return took
}

// copiesOf returns the pids of a process's children.
func copiesOf(t *testing.T, pid string) (copies []string) {
	t.Helper()
	lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	require.NoError(t, err)
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		copies = append(copies, strings.Fields(string(b))...)
	}
	return copies
}
