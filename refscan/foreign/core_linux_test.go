//go:build linux && (amd64 || arm64)

package foreign_test

import (
	"bufio"
	"context"
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

// built are the subjects that were built in this test run, by flags. TestMain removes their folder.
var built struct {
	dir  string
	path map[string]string
}

// build builds the subject once for each set of flags.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	key := strings.Join(flags, " ")
	if exe := built.path[key]; exe != "" {
		return exe
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "foreign")
		require.NoError(t, err)
		built.dir, built.path = dir, make(map[string]string)
	}
	exe := filepath.Join(built.dir, strconv.Itoa(len(built.path)), "subject")
	require.NoError(t, os.Mkdir(filepath.Dir(exe), 0o777))
	out, err := exec.Command("go", append(append([]string{"build"}, flags...), "-o", exe, "./testdata/subject")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	built.path[key] = exe
	return exe
}

// start runs the subject in a folder of its own, and waits until it is ready.
func start(t *testing.T, exe string, args ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	return startBy(t, nil, exe, args...)
}

// startBy does the same by a command that runs the subject.
func startBy(t *testing.T, by []string, exe string, args ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	dir = t.TempDir()
	// Core files are written only as far as a limit allows. Only a shell can raise the limit before
	// the program begins.
	line := slices.Concat(by, []string{"/bin/sh", "-c", `ulimit -c unlimited 2>/dev/null; exec "$0" "$@"`, exe}, args)
	cmd = exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOTRACEBACK=crash")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	said, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready 26\n", said)
	return cmd, dir
}

// kernelCore makes the kernel write a core file of the subject, which ends.
func kernelCore(t *testing.T, exe string, args ...string) string {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.ContainsAny(string(pattern), "|/%") {
		t.Skipf("the kernel does not write core files into the current folder here: core_pattern is %q", pattern)
	}
	cmd, dir := start(t, exe, args...)
	require.NoError(t, cmd.Process.Signal(syscall.SIGABRT))
	_ = cmd.Wait()
	files, err := filepath.Glob(filepath.Join(dir, "*core*"))
	require.NoError(t, err)
	if len(files) != 1 {
		t.Skipf("the kernel wrote no core file (%v); a limit may forbid it", cmd.ProcessState)
	}
	return files[0]
}

// gcore makes gdb write a core file of the subject, which stays alive.
func gcore(t *testing.T, exe string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcore"); err != nil {
		t.Skip("gcore is not installed; it comes with gdb")
	}
	cmd, dir := start(t, exe, args...)
	prefix := filepath.Join(dir, "gcore")
	pid := strconv.Itoa(cmd.Process.Pid)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "gcore", "-o", prefix, pid).CombinedOutput()
	if err != nil && strings.Contains(string(out), "not permitted") {
		t.Skipf("gdb may not attach here: %s", out)
	}
	require.NoError(t, err, "%s", out)
	return prefix + "." + pid
}

// checkReport checks the report of a subject with a number of sessions.
func checkReport(t *testing.T, r *refscan.Report, sessions int64) {
	t.Helper()
	var found *refscan.Node
	for _, n := range r.Roots {
		if n.Name == "main.sessions" {
			found = n
		}
	}
	require.NotNil(t, found, "the root main.sessions")
	objects, _ := found.Total()
	require.Equal(t, 1+3*sessions, objects, "the slice; of each session itself, its name and its data")
	require.NotNil(t, r.Stopped)
	require.Zero(t, r.Stopped.Dangling)
	require.Zero(t, r.Stopped.Lost, "%+v", *r.Stopped)
	require.Zero(t, r.Totals.ExtraBytes)
	require.Equal(t, r.Totals.LiveObjects, r.Totals.AttributedObjects)
}

func scanCore(t *testing.T, core, exe string) *refscan.Report {
	t.Helper()
	s, err := foreign.OpenCore(context.Background(), core, exe)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r, err := s.Scan(refscan.WithRetained())
	require.NoError(t, err)
	return r
}

func TestKernelCore(t *testing.T) {
	exe := build(t)
	core := kernelCore(t, exe, "1000")
	r := scanCore(t, core, exe)
	checkReport(t, r, 1000)
	require.True(t, r.Retained)

	t.Run("of another program", func(t *testing.T) {
		_, err := foreign.OpenCore(context.Background(), core, build(t, "-ldflags=-X main.unused=1"))
		require.ErrorContains(t, err, "do not belong together")
		require.ErrorContains(t, err, "build ID")
	})
	t.Run("truncated", func(t *testing.T) {
		content, err := os.ReadFile(core)
		require.NoError(t, err)
		for _, n := range []int{len(content) - 1, len(content) / 2, 100} {
			cut := filepath.Join(t.TempDir(), "core")
			require.NoError(t, os.WriteFile(cut, content[:n], 0o666))
			_, err := foreign.OpenCore(context.Background(), cut, exe)
			require.ErrorContains(t, err, "the core file is truncated")
			require.ErrorContains(t, err, "ulimit -c unlimited")
		}
	})
	t.Run("stripped", func(t *testing.T) {
		stripped := filepath.Join(t.TempDir(), "stripped")
		if out, err := exec.Command("strip", "-o", stripped, exe).CombinedOutput(); err != nil {
			t.Skipf("strip: %v %s", err, out)
		}
		// without a cache: the index of the unstripped file would serve the stripped one, too
		t.Setenv("LEAKGATE_CACHE", "off")
		_, err := foreign.OpenCore(context.Background(), core, stripped)
		require.ErrorContains(t, err, "no debug information")
		require.ErrorContains(t, err, "that was not stripped")
		core := kernelCore(t, stripped, "1000")
		checkReport(t, scanCore(t, core, exe), 1000) // the unstripped file of the same build ID
	})
}

// Core files are read whatever the program was doing when they were written.
func TestCoresOfBusyPrograms(t *testing.T) {
	require.Slow(t)
	for name, flags := range map[string][]string{"default": nil, "pie": {"-buildmode=pie"}, "unoptimised": {"-gcflags=all=-N -l"}} {
		t.Run(name, func(t *testing.T) {
			exe := build(t, flags...)
			for range 2 {
				r := scanCore(t, kernelCore(t, exe, "20000", "busy"), exe)
				r.Stopped.Lost = 0 // may be more
				checkReport(t, r, 20000)
			}
			r := scanCore(t, gcore(t, exe, "20000", "busy"), exe)
			r.Stopped.Lost = 0
			checkReport(t, r, 20000)
		})
	}
}

func TestOpenCoreRefuses(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, tt := range map[string]struct{ core, exe, want string }{
		"no program":    {"core_linux_test.go", "core_linux_test.go", "the program's file cannot be read"},
		"no such file":  {"core_linux_test.go", "there-is-none", "no such file"},
		"no Go program": {"core_linux_test.go", "/bin/sh", "/bin/sh is no program that can be looked into"},
		"no debug info": {self, self, "go build without -ldflags"},
		"folder as exe": {"core_linux_test.go", ".", "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := foreign.OpenCore(context.Background(), tt.core, tt.exe)
			require.ErrorContains(t, err, tt.want)
			require.ErrorAs(t, err, new(*refscan.UnavailableError))
		})
	}
	exe := build(t)
	for name, core := range map[string]string{"text": "core_linux_test.go", "program": exe, "folder": "."} {
		t.Run(name+" as core", func(t *testing.T) {
			_, err := foreign.OpenCore(context.Background(), core, exe)
			require.ErrorContains(t, err, core+" cannot be read")
		})
	}
}
