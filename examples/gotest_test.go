package examples

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var repeat = flag.Int("repeat", 1, "run the fixed twins and check the goldens `n` times in each mode")

// A run is one run of the go command.
type run struct {
	output string
	passed bool
}

// goTest runs "go test" in dir. It sets LEAKGATE_STRICT, so that a test that could not tell does
// not pass, and removes the settings of leakcheck from the environment, except for the cache. A run
// that fails without a failed test, such as one that does not build, ends the test.
func goTest(t *testing.T, dir string, env []string, args ...string) run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*repeat)*5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "LEAKGATE_CACHE=") || !strings.HasPrefix(kv, "LEAKGATE_") && !strings.HasPrefix(kv, "LEAKCHECK_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "PWD="+dir, "GOWORK=off", "LEAKGATE_STRICT=1")
	cmd.Env = append(cmd.Env, env...)
	output, err := cmd.CombinedOutput()

	var exit *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &exit) || !strings.Contains(string(output), "--- FAIL: "):
		t.Fatalf("%s in %s: %v\n%s", cmd, dir, err, output)
	}
	return run{output: string(output), passed: err == nil}
}

// module returns the folder of one side of an example.
func module(t *testing.T, e example, side string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(e.folder, side))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
