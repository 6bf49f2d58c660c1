package page_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// scratch is a folder for all tests of the package.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "leakgate-page-"); err != nil {
		panic(err)
	}
	code := m.Run()
	closeBrowser()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// slow skips a test unless LEAKGATE_SLOW=1 is set.
func slow(t *testing.T) {
	t.Helper()
	if os.Getenv("LEAKGATE_SLOW") != "1" {
		t.Skip("takes long; LEAKGATE_SLOW=1 runs it")
	}
}

// command is the leakgate command, built.
var command = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "leakgate")
	_, err := exec.Command("go", "build", "-o", path, "github.com/leakgate/leakgate/cmd/leakgate").Output()
	return path, err
})

// leakgate runs the command in the folder of the leaking program, and returns its output and its
// exit code.
func leakgate(t *testing.T, args ...string) (string, int) {
	t.Helper()
	return leakgateIn(t, filepath.Join("testdata", "subject"), args...)
}

// leakgateIn runs the command in a folder.
func leakgateIn(t *testing.T, folder string, args ...string) (string, int) {
	t.Helper()
	path, err := command()
	require.NoError(t, err)
	cmd := exec.Command(path, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=", "GITHUB_ACTIONS=", "CI=")
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

var ran struct {
	sync.Once
	out string
}

// artifacts returns the artifacts of a real run. All allocations are recorded; otherwise it would
// depend on the sampler whether an assertion has a view of them.
func artifacts(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(scratch, "artifacts")
	ran.Do(func() { ran.out, _ = leakgate(t, "run", "-alloc-sites", "-artifacts", "all", "-o", dir, ".") })
	require.FileExists(t, filepath.Join(dir, "leakgate.json"), ran.out)
	return dir
}
