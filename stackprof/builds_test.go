package stackprof_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestBuilds: the sizes of frames are right however a program is built. Builds for which the
// standard library has to be compiled anew take part with LEAKGATE_LONG=1.
func TestBuilds(t *testing.T) {
	require.Slow(t)
	builds := map[string][]string{
		"plain":                {},
		"without optimisation": {"-gcflags=-N -l"},
		"trimpath":             {"-trimpath"},
	}
	if os.Getenv("LEAKGATE_LONG") == "1" {
		builds["position-independent"] = []string{"-buildmode=pie"}
		builds["nothing optimised"] = []string{"-gcflags=all=-N -l"}
		builds["race detector"] = []string{"-race"}
	}
	for name, flags := range builds {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "frames")
			args := append(append([]string{"build", "-o", program}, flags...), "./testdata/frames")
			out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			run := exec.CommandContext(t.Context(), program)
			run.Env = append(os.Environ(), "LEAKGATE_CACHE=off")
			out, err = run.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Equal(t, "ok true\n", string(out))
		})
	}
}
