//go:build amd64 || arm64

package attach

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// buildSubject builds the program in testdata.
func buildSubject(t *testing.T) (exe string) {
	t.Helper()
	exe = filepath.Join(t.TempDir(), "subject")
	out, err := exec.Command("go", "build", "-o", exe, "./testdata/subject").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exe
}

// startSubject runs the program in testdata until the test ends.
func startSubject(t *testing.T, args ...string) (pid int, lines *bufio.Reader) {
	t.Helper()
	subject := exec.Command(buildSubject(t), args...)
	_, err := subject.StdinPipe()
	require.NoError(t, err)
	stdout, err := subject.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, subject.Start())
	t.Cleanup(func() {
		_ = subject.Process.Kill()
		_ = subject.Wait()
	})
	return subject.Process.Pid, bufio.NewReader(stdout)
}
