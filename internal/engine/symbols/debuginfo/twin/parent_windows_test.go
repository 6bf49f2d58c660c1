package twin

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// The roles of this binary in TestFindGoTest: it stands for the go command, which runs the test's
// binary, or for the test's binary, which prints the result of findGoTest.
const (
	role      = "TWIN_ROLE"
	goRole    = "go"
	binRole   = "binary"
	binaryVar = "TWIN_BINARY"
)

type found struct {
	Exe, Dir string
	Args     []string
	OK       bool
}

func init() {
	switch os.Getenv(role) {
	case goRole:
		cmd := exec.Command(os.Getenv(binaryVar))
		cmd.Env = append(os.Environ(), role+"="+binRole)
		cmd.Dir, cmd.Stdout = os.TempDir(), os.Stdout
		if cmd.Run() != nil {
			os.Exit(2)
		}
		os.Exit(0)
	case binRole:
		p, ok := findGoTest()
		_ = json.NewEncoder(os.Stdout).Encode(found{p.exe, p.dir, p.args, ok})
		os.Exit(0)
	}
}

func TestFindGoTest(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	dir := t.TempDir()
	tool := filepath.Join(dir, goName)
	require.NoError(t, os.WriteFile(tool, text, 0o700))
	args := []string{"test", "-ldflags=-X a.b=c d", "-tags", `with "quotes"`, "./..."}
	cmd := exec.Command(tool, args...)
	cmd.Env = append(os.Environ(), role+"="+goRole, binaryVar+"="+self)
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(t, err)
	var f found
	require.NoError(t, json.Unmarshal(out, &f))
	require.True(t, f.OK)
	require.Equal(t, append([]string{tool}, args...), f.Args)
	require.Equal(t, tool, f.Exe)
	require.Equal(t, dir, f.Dir)

	// Without a go command among its ancestors findGoTest finds none.
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), role+"="+binRole)
	out, err = cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &f))
	require.False(t, f.OK)
}
