//go:build linux

package refscan_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
	"github.com/leakgate/leakgate/refscan"
)

// Goroutines in C code, and in Go code that C code called, among them the one that takes the
// snapshot.
func TestCgoCalls(t *testing.T) {
	require.Slow(t)
	env, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	require.NoError(t, err)
	enabled, cc, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	if _, err := exec.LookPath(cc); enabled != "1" || err != nil {
		t.Skip("the test needs cgo and a C compiler")
	}
	for _, mode := range []string{"", "-linkmode=external"} {
		t.Run("ldflags "+mode, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "cgocalls")
			build, err := exec.Command("go", "build", "-ldflags="+mode, "-o", program, "./testdata/cgocalls").CombinedOutput()
			require.NoError(t, err, "%s", build)
			run := exec.Command(program)
			run.Stderr = os.Stderr
			out, err := run.Output()
			require.NoError(t, err)
			var got struct {
				Totals  refscan.Totals
				Cargoes map[string]int64
			}
			require.NoError(t, json.Unmarshal(out, &got))
			record(t, got.Totals, 0)
			t.Logf("%+v", got)
			require.Equal(t, map[string]int64{"main.inC.p": 1, "main.throughC.p": 2, "main.goCallback.p": 2}, got.Cargoes)
			require.Zero(t, got.Totals.ExtraBytes)
			require.LessOrEqual(t, got.Totals.MissedBytes, int64(maxMissed))
		})
	}
}
