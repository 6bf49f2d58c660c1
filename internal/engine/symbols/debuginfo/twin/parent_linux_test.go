package twin

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestCopyOfTheTest: testscript copies the test binary, and runs the copies as commands, in other
// folders. What they were linked from lies beside the original.
func TestCopyOfTheTest(t *testing.T) {
	const inCopy = "LEAKGATE_TEST_COPY"
	if os.Getenv(inCopy) != "" {
		p, _ := findGoTest()
		_, _ = os.Stdout.WriteString(p.original)
		os.Exit(0)
	}
	parent, err := os.Readlink(filepath.Join(procDir(os.Getppid()), "exe"))
	if _, ok := findGoTest(); !ok || err != nil || !isGoCommand(parent) {
		t.Skip("the go command does not run this test, or by another command")
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(exe)
	require.NoError(t, err)
	for _, tt := range []struct {
		name, added, want string
	}{
		{"copy", "", exe},
		{"other", "another program", ""},
	} {
		copied := filepath.Join(t.TempDir(), tt.name)
		require.NoError(t, os.WriteFile(copied, append(binary, tt.added...), 0o700))
		cmd := exec.Command(copied, "-test.run=^TestCopyOfTheTest$")
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), inCopy+"=1")
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, tt.want, string(out), tt.name)
	}
}
