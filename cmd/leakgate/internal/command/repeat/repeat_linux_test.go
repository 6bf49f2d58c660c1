//go:build amd64 || arm64

package repeat

import (
	"bytes"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
)

// asCommand makes a test binary run the command instead of tests.
const asCommand = "REPEAT_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Repeat(&cli.Context{Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// A world is a server and a client that were built for a test.
type world struct{ dir, server, client string }

// build builds the server and the client in testdata.
func build(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	w.server, w.client = filepath.Join(w.dir, "server"), filepath.Join(w.dir, "client")
	for file, source := range map[string]string{w.server: "./testdata/server", w.client: "./testdata/client"} {
		out, err := exec.Command("go", "build", "-o", file, source).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return w
}

// start starts the server, until the test ends.
func (w *world) start(t *testing.T, more ...string) (pid int, socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "socket")
	cmd := exec.Command(w.server, append([]string{socket}, more...)...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool { return w.asks(socket, "nothing") }, time.Minute, 10*time.Millisecond)
	return cmd.Process.Pid, socket
}

// asks reports whether the server answers.
func (w *world) asks(socket, what string) bool {
	return exec.Command(w.client, socket, what).Run() == nil
}

// repeat runs the command in a process of its own, in a folder.
func repeat(t *testing.T, dir string, args ...string) (code int, output string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asCommand+"=1", "CI=", "GITHUB_ACTIONS=")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "may not be looked into") {
		t.Skipf("ptrace is not permitted here: %s", out)
	}
	if err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestRepeat(t *testing.T) {
	w := build(t)
	for name, tt := range map[string]struct {
		ask  string
		code int
		want []string
	}{
		"leak":    {"leak", 1, []string{"op is a call of: ", "memory of process ", " (server) grows with every call of op", "+1.00 *main.session/op", "via main.sessions[*]", "leakgate: retention regression (exit 1)"}},
		"healthy": {"nothing", 0, []string{"leakgate: pass (exit 0)"}},
		"fails":   {"fail", 4, []string{"the command failed: ", "exit status 7", "it printed:", "this did not work"}},
		"ends":    {"end", 3, []string{"has ended, or runs another program now", "leakgate: could not tell (exit 3)"}},
	} {
		t.Run(name, func(t *testing.T) {
			pid, socket := w.start(t)
			code, out := repeat(t, t.TempDir(), "-pid", strconv.Itoa(pid), "--", w.client, socket, tt.ask)
			assert.Equal(t, tt.code, code, out)
			for _, want := range tt.want {
				assert.Contains(t, out, want)
			}
		})
	}
	t.Run("calls", func(t *testing.T) {
		pid, socket := w.start(t)
		code, out := repeat(t, t.TempDir(), "-pid", strconv.Itoa(pid), "-calls", "10", "--", w.client, socket, "leak", "10")
		assert.Equal(t, 1, code, out)
		assert.Contains(t, out, "+1.00 *main.session/op")
		assert.Contains(t, out, "each time counts as 10 calls")
	})
	t.Run("base", func(t *testing.T) {
		pid, socket := w.start(t)
		dir := t.TempDir()
		code, out := repeat(t, dir, "-o", "before", "-pid", strconv.Itoa(pid), "--", w.client, socket, "leak")
		require.Equal(t, 1, code, out)
		code, out = repeat(t, dir, "-base", "before", "-pid", strconv.Itoa(pid), "--", w.client, socket, "leak")
		assert.Equal(t, 0, code, out)
		code, out = repeat(t, dir, "-base", "before", "-pid", strconv.Itoa(pid), "--", w.client, socket, "goroutine")
		assert.Equal(t, 1, code, out)
		report, err := outcome.Read(filepath.Join(dir, "leakgate-artifacts"))
		require.NoError(t, err)
		assert.Equal(t, outcome.Regression, report.Outcome)
	})
	t.Run("formats", func(t *testing.T) {
		pid, socket := w.start(t)
		dir := t.TempDir()
		code, out := repeat(t, dir, "-junit", "junit.xml", "-sarif", "leaks.sarif", "-markdown", "leaks.md", "-pid", strconv.Itoa(pid), "--", w.client, socket, "leak")
		require.Equal(t, 1, code, out)
		for file, want := range map[string]string{"junit.xml": `name="repeat"`, "leaks.sarif": "main.sessions[*]", "leaks.md": "main.session", "leakgate-artifacts/leak.html": "main.sessions"} {
			content, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			assert.Contains(t, string(content), want, file)
		}
	})
	t.Run("no program of Go", func(t *testing.T) {
		cmd := exec.Command("sleep", "100")
		require.NoError(t, cmd.Start())
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		code, out := repeat(t, t.TempDir(), "-pid", strconv.Itoa(cmd.Process.Pid), "--", "true")
		assert.Equal(t, 3, code, out)
		assert.Contains(t, out, "is no program that can be looked into")
	})
}

func TestStart(t *testing.T) {
	w := build(t)
	socket := filepath.Join(t.TempDir(), "s")
	ready := "http://127.0.0.1:0/"
	_, err := os.Stat(socket)
	require.Error(t, err)
	t.Run("ends before it is ready", func(t *testing.T) {
		code, out := repeat(t, t.TempDir(), "-start", w.server, "-ready", ready, "--", "true")
		assert.Equal(t, 4, code, out)
		assert.Contains(t, out, "the server ended before it was ready")
		assert.Contains(t, out, "server needs a socket")
	})
	t.Run("is never ready", func(t *testing.T) {
		code, out := repeat(t, t.TempDir(), "-timeout", "1s", "-start", w.server+" "+socket, "-ready", ready, "--", "true")
		assert.Equal(t, 4, code, out)
		assert.Contains(t, out, "the server was not ready in time at "+ready)
	})
	t.Run("leaves nothing", func(t *testing.T) {
		code, out := repeat(t, t.TempDir(), "-start", w.server+" "+socket, "--", w.client, socket, "leak")
		assert.Equal(t, 1, code, out)
		assert.False(t, w.asks(socket, "nothing"), "the server goes on")
	})
}

// A process that may not be traced tells by itself what it retains.
func TestURL(t *testing.T) {
	w := build(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	_, socket := w.start(t, address)
	for ask, want := range map[string]string{"leak": "via main.sessions[*]", "goroutine": "+1.00 goroutine/op in main.main.func2"} {
		code, out := repeat(t, t.TempDir(), "-url", "http://"+address+"/debug/retained", "--", w.client, socket, ask)
		assert.Equal(t, 1, code, out)
		assert.Contains(t, out, want)
	}
	code, out := repeat(t, t.TempDir(), "-url", "http://"+address+"/debug/retained", "--", w.client, socket, "nothing")
	assert.Equal(t, 0, code, out)
	assert.Contains(t, out, "descriptors, threads, child processes and memory without objects are not known")
	code, out = repeat(t, t.TempDir(), "-url", "http://"+address+"/nothing", "--", "true")
	assert.Equal(t, 3, code, out)
	assert.Contains(t, out, "404 Not Found")
}

// A command that does not return is ended, and what it has started with it.
func TestHangs(t *testing.T) {
	w := build(t)
	pid, socket := w.start(t)
	code, out := repeat(t, t.TempDir(), "-timeout", "2s", "-pid", strconv.Itoa(pid), "--", "sh", "-c", "sleep 1000 | cat")
	assert.Equal(t, 4, code, out)
	assert.Contains(t, out, "it did not return in time")
	assert.True(t, w.asks(socket, "nothing"))
}

// The server goes on whenever the command is killed.
func TestKilled(t *testing.T) {
	w := build(t)
	pid, socket := w.start(t)
	rounds := 5
	if os.Getenv("LEAKGATE_SLOW") != "" {
		rounds = 30
	}
	for range rounds {
		cmd := exec.Command(os.Args[0], "-pid", strconv.Itoa(pid), "--", w.client, socket, "leak")
		var out bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.TempDir(), append(os.Environ(), asCommand+"=1"), &out, &out
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		require.True(t, w.asks(socket, "nothing"), "the server does not answer: %s", out.String())
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		require.NoError(t, err)
		require.Contains(t, string(status), "TracerPid:\t0\n")
	}
}

func TestParse(t *testing.T) {
	for want, args := range map[string][]string{
		"-pid number, -start command, or -url address": {"--", "true"},
		"one process":             {"-pid", "1", "-start", "x", "--", "true"},
		"-ready goes with -start": {"-pid", "1", "-ready", "x", "--", "true"},
		"a command to repeat":     {"-pid", "1"},
		"-calls 0":                {"-pid", "1", "-calls", "0", "--", "true"},
		"-timeout":                {"-pid", "1", "-timeout", "-1s", "--", "true"},
	} {
		_, err := Parse(args)
		assert.ErrorContains(t, err, want)
	}
}
