package gotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Compilers and linkers are known by their names and command lines, below a go command, too.
func TestBuilding(t *testing.T) {
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	dir := t.TempDir()
	script := `read line` // until its standard input is closed
	for _, args := range [][]string{{"compile", "-p", "example.com/app"}, {"link", "-o", "/tmp/b001/app.test"}} {
		tool := filepath.Join(dir, args[0])
		require.NoError(t, os.Symlink(shell, tool))
		// The outer shell stands for the go command; what follows the tool keeps it there.
		cmd := exec.Command(shell, append([]string{"-c", `"$@"; true`, "go", tool, "-c", script}, args...)...)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
	}
	require.Eventually(t, func() bool { return Building() == "compiling example.com/app, linking app.test" }, time.Minute, 10*time.Millisecond)
}
