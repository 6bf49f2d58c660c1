package stackprof_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestCgoCallback runs a program whose goroutines wait in functions that C called.
func TestCgoCallback(t *testing.T) {
	require.Slow(t)
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler, which cgo needs")
	}
	program := filepath.Join(t.TempDir(), "cgocallback")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/cgocallback")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	run := exec.CommandContext(t.Context(), program)
	run.Env = append(os.Environ(), "LEAKGATE_CACHE=off")
	out, err = run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "ok\n", string(out))
}
