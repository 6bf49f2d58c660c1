package twin

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A test that is killed while its twin is linked leaves no process behind.
func TestKilledProcess(t *testing.T) {
	const variable = "LEAKGATE_TEST_FIFO"
	if fifo := os.Getenv(variable); fifo != "" {
		_, err := run(t.Context(), "/", os.Environ(), "/bin/sh", "-c", "exec 3>$"+variable+"; echo begun >&3; sleep 1000 & sleep 1000")
		t.Fatalf("it is killed before this ends: %v", err)
	}
	require.NoError(t, executable("/bin/sh"))
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+fifo)
	require.NoError(t, cmd.Start())
	begun, err := os.OpenFile(fifo, os.O_RDWR, 0) // opening it for reading alone waits for a writer
	require.NoError(t, err)
	defer begun.Close()
	// The deadlines guard against hanging; they are no measurements.
	require.NoError(t, begun.SetReadDeadline(time.Now().Add(2*time.Minute)))
	line := make([]byte, len("begun\n"))
	_, err = io.ReadFull(begun, line)
	require.NoError(t, err)
	held, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer held.Close()
	require.NoError(t, begun.Close())
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	// The read ends when no process has the pipe open for writing.
	require.NoError(t, held.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = held.Read(line)
	require.ErrorIs(t, err, io.EOF, "the command lives on")
}
