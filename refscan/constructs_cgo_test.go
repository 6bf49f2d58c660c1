//go:build linux

package refscan_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// Goroutines in C code, and in Go code that C code called, among them the one that takes the
// snapshot.
func TestCgoCalls(t *testing.T) {
	require.Slow(t)
	inCgoProgram(t, "cgocalls", map[string]int64{"main.inC.p": 1, "main.throughC.p": 2, "main.goCallback.p": 2})
}

// Values with pointers to a C struct of which only the name is known.
func TestCgoHandles(t *testing.T) {
	require.Slow(t)
	inCgoProgram(t, "cgohandles", map[string]int64{
		"main.handles[*] *main.handle": 100, "main.pairs[*] *main.pair": 100,
		"main.owners[*] *main.owner": 100, "main.wrappers[*] *main.wrapper": 100,
	})
}

// inCgoProgram builds a program in testdata with cgo, runs it, and requires that it finds held in a
// snapshot of itself, and that the audit of its report is within the limits.
func inCgoProgram(t *testing.T, name string, held map[string]int64) {
	env, err := exec.Command("go", "env", "CGO_ENABLED", "CC").Output()
	require.NoError(t, err)
	enabled, cc, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	if _, err := exec.LookPath(cc); enabled != "1" || err != nil {
		t.Skip("the test needs cgo and a C compiler")
	}
	for _, mode := range []string{"", "-linkmode=external"} {
		t.Run("ldflags "+mode, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), name)
			build, err := exec.Command("go", "build", "-ldflags="+mode, "-o", program, "./testdata/"+name).CombinedOutput()
			require.NoError(t, err, "%s", build)
			run := exec.Command(program)
			run.Stderr = os.Stderr
			out, err := run.Output()
			require.NoError(t, err)
			var got struct {
				Totals refscan.Totals
				Held   map[string]int64
			}
			require.NoError(t, json.Unmarshal(out, &got))
			record(t, got.Totals, 0)
			t.Logf("%+v", got)
			require.Equal(t, held, got.Held)
			require.Zero(t, got.Totals.ExtraBytes)
			require.LessOrEqual(t, got.Totals.MissedBytes, int64(maxMissed))
		})
	}
}
