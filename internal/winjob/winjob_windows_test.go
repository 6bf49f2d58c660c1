package winjob

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Roles of this binary in the tests: a parent starts a child and waits; a child waits.
const (
	role   = "WINJOB_ROLE"
	parent = "parent"
	child  = "child"
	note   = "WINJOB_NOTE" // the file for the child's process id
)

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case parent:
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"="+child)
		if cmd.Start() != nil {
			os.Exit(2)
		}
		_ = os.WriteFile(os.Getenv(note), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
		time.Sleep(time.Minute)
	case child:
		time.Sleep(time.Minute)
	default:
		os.Exit(m.Run())
	}
}

// family starts a process that starts another one, and returns a handle of the latter.
func family(t *testing.T) (*Job, *exec.Cmd, syscall.Handle) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+parent, note+"="+file)
	j := New(cmd)
	require.NoError(t, j.Start())
	pid := 0
	for deadline := time.Now().Add(30 * time.Second); pid == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(string(text))
	}
	require.NotZero(t, pid)
	h, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.CloseHandle(h) })
	state, err := syscall.WaitForSingleObject(h, 0)
	require.NoError(t, err)
	require.Equal(t, syscall.WAIT_TIMEOUT, int(state))
	return j, cmd, h
}

func requireEnds(t *testing.T, h syscall.Handle) {
	t.Helper()
	state, err := syscall.WaitForSingleObject(h, 30_000)
	require.NoError(t, err)
	require.Equal(t, syscall.WAIT_OBJECT_0, int(state))
}

func TestKill(t *testing.T) {
	j, cmd, h := family(t)
	require.NoError(t, j.Kill())
	require.Error(t, cmd.Wait())
	requireEnds(t, h)
	j.Close()
	j.Close()
}

// Processes that the command left behind end with the job.
func TestClose(t *testing.T) {
	j, cmd, h := family(t)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	state, err := syscall.WaitForSingleObject(h, 0)
	require.NoError(t, err)
	require.Equal(t, syscall.WAIT_TIMEOUT, int(state))
	j.Close()
	requireEnds(t, h)
}

func TestStartFails(t *testing.T) {
	j := New(exec.Command(filepath.Join(t.TempDir(), "missing.exe")))
	require.Error(t, j.Start())
	require.Error(t, j.Kill())
	j.Close()
}
