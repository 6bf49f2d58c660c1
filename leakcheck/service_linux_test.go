//go:build amd64 || arm64

package leakcheck

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// buildService builds testdata/service.
func buildService(t *testing.T, flags ...string) (exe string) {
	t.Helper()
	exe = filepath.Join(t.TempDir(), "service")
	out, err := exec.Command("go", append(append([]string{"build"}, flags...), "-o", exe, "./testdata/service")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exe
}

// A service is a running server.
type runningService struct {
	pid     int
	address string
}

// startService starts the server, until the test ends.
func startService(t *testing.T, exe string, env ...string) *runningService {
	t.Helper()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), env...)
	s := startCommand(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return s
}

// startCommand starts a server.
func startCommand(t *testing.T, cmd *exec.Cmd) *runningService {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	address, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return &runningService{cmd.Process.Pid, strings.TrimSpace(address)}
}

// get asks the server for a path, and returns its answer.
func (s *runningService) get(t TestingT, path string) string {
	answer, err := http.Get("http://" + s.address + path)
	if err != nil {
		t.Errorf("%v", err)
		return ""
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = answer.Body.Close()
	}
	if err != nil {
		t.Errorf("%v", err)
	}
	return string(text)
}

// judge asserts that what the server does for a path leaves nothing there, as far as it leaks.
func (s *runningService) judge(t *testing.T, path string, in ProcessOption) {
	t.Helper()
	ft := &fakeT{name: "TestService"}
	ok := AssertNoGrowth(ft, func() { s.get(ft, path) }, in)
	if strings.Contains(ft.errorText()+strings.Join(ft.logs, ""), "may not be looked into") {
		t.Skip("ptrace is not permitted here")
	}
	leaks := strings.HasPrefix(path, "/leak/")
	if ok == leaks || leaks && !strings.Contains(ft.errorText(), "with every call of op") || strings.Contains(strings.Join(ft.logs, ""), "UNKNOWN") {
		t.Errorf("%s passed: %v\n%s\n%s", path, ok, ft.errorText(), strings.Join(ft.logs, "\n"))
	}
}

// Each shape of a leak in a server fails AssertNoGrowth, and no healthy shape does.
func TestServices(t *testing.T) {
	require.Slow(t)
	exe := buildService(t)
	names := strings.Fields(startService(t, exe).get(t, "/names"))
	slices.Sort(names)
	for _, path := range names {
		t.Run(path[1:], func(t *testing.T) {
			s := startService(t, exe)
			s.judge(t, path, InProcess(s.pid))
		})
	}
}

// So it is however the server is built, and whether it collects garbage or not.
func TestServiceBuilds(t *testing.T) {
	require.Slow(t)
	for name, tt := range map[string]struct{ flags, env []string }{
		"plain":       {},
		"gcoff":       {env: []string{"SERVICE_GC=off"}},
		"limit":       {env: []string{"GOMEMLIMIT=20MiB"}},
		"race":        {flags: []string{"-race"}},
		"pie":         {flags: []string{"-buildmode=pie"}},
		"unoptimised": {flags: []string{"-gcflags=all=-N -l"}},
	} {
		t.Run(name, func(t *testing.T) {
			exe := buildService(t, tt.flags...)
			for _, path := range []string{"/leak/map", "/leak/goroutine", "/leak/file", "/healthy/garbage", "/healthy/dropped", "/healthy/client"} {
				s := startService(t, exe, tt.env...)
				s.judge(t, path, InProcess(s.pid))
			}
		})
	}
}

// So it is while another goroutine waits for the end of the server, which it is told of alone.
func TestWaitedService(t *testing.T) {
	exe := buildService(t)
	for _, path := range []string{"/leak/map", "/healthy/client"} {
		t.Run(path[1:], func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			cmd := exec.CommandContext(ctx, exe)
			s := startCommand(t, cmd)
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			s.judge(t, path, InProcess(s.pid))
			if err := Find(InProcess(s.pid), Root("main.byID").MaxObjects(1)); strings.HasPrefix(path, "/leak/") {
				require.ErrorContains(t, err, "main.byID")
			} else {
				require.NoError(t, err)
			}
			select {
			case err := <-ended:
				t.Errorf("Wait returned: %v", err)
			default:
			}
			stop()
			require.ErrorContains(t, <-ended, "signal: killed")
		})
	}
}

// A stripped server is unknown, and known by the unstripped file of the same build.
func TestStrippedService(t *testing.T) {
	exe := buildService(t)
	stripped := exe + "-stripped"
	if out, err := exec.Command("strip", "-o", stripped, exe).CombinedOutput(); err != nil {
		t.Skipf("strip: %v %s", err, out)
	}
	t.Setenv("LEAKGATE_CACHE", "off") // the index of the unstripped file would serve the stripped one, too
	s := startService(t, stripped)
	err := Find(InProcess(s.pid), Root("main.byID").MaxObjects(1))
	require.ErrorContains(t, err, "no debug information")
	require.ErrorContains(t, err, "give the file of the same build that was not stripped")
	require.NoError(t, Find(InProcess(s.pid).Executable(exe), Root("main.byID").MaxObjects(1)))
}

// Bounds, a golden file and a baseline are of the process.
func TestBoundsInProcess(t *testing.T) {
	s := startService(t, buildService(t))
	in := InProcess(s.pid)
	err := Find(in, TypeNamed("*main.session").None(), Goroutines("main.**").Max(2))
	if err != nil && strings.Contains(err.Error(), "may not be looked into") {
		t.Skip(err)
	}
	require.NoError(t, err)
	// where goroutines start in this program says nothing about that one
	require.NoError(t, Find(in, Goroutines("bufio.(*Reader).ReadSlice").Max(0)))
	before := TakeBaseline(t, in)
	for range 10 {
		s.get(t, "/leak/map")
		s.get(t, "/leak/goroutine")
		s.get(t, "/leak/file")
	}
	require.ErrorContains(t, Find(in, Root("main.byID").MaxObjects(1)), "main.byID")
	require.NoError(t, Find(in, Root("main.byID").MaxObjects(21)))
	require.ErrorContains(t, Find(in, TypeNamed("*main.session").None()), "found 10 objects")
	require.ErrorContains(t, Find(in, Goroutines("main.**").Max(2)), "12 goroutines")
	require.ErrorContains(t, Find(in, Since(before), TypeNamed("*main.session").MaxObjects(9)), "10")
	require.NoError(t, Find(in, Since(before), TypeNamed("*main.session").MaxObjects(10)))
	require.ErrorContains(t, Find(in, Since(before), Files().Max(9)), "/dev/null")
	require.ErrorContains(t, Find(in, Root("main.nothing").None()), "main.nothing")
	for want, opts := range map[string][]Option{
		"name the type as it is called there":  {in, Type[*request.Request]().None()},
		"InProcess is given twice":             {in, in, Root("main.byID").None()},
		"the baseline is of process":           {Since(before), Root("main.byID").None()},
		"a process ID is positive":             {InProcess(0), Root("main.byID").None()},
		"this is the test's own process":       {InProcess(os.Getpid()), Root("main.byID").None()},
		"there is no process 99999999 to look": {InProcess(99999999), Root("main.byID").None()},
	} {
		require.ErrorContains(t, Find(opts...), want)
	}
}
