//go:build amd64 || arm64

package leakcheck

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestEndToEndHolds runs the programs of testdata/holds, which keep memory in a bounded root and
// elsewhere as well: leaks that something else holds, too, which have to fail, and healthy ones
// with shared memory behind the root, which have to pass. They are a module of their own: memory of
// packages below leakgate's internal folder counts as the tool's. Each is a subtest here. To run
// some of them: go test -C testdata/holds -v -run TestLeaking/map .
func TestEndToEndHolds(t *testing.T) {
	require.Slow(t)
	cmd := exec.Command("go", "test", "-json", "-count=1", "-timeout=18m", ".")
	cmd.Dir = "testdata/holds"
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "GOWORK" && !strings.HasPrefix(name, "LEAK") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &failed)
	}
	printed, verdicts := map[string]string{}, 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e struct{ Action, Test, Output string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		printed[e.Test] += e.Output
		if !strings.Contains(e.Test, "/") || e.Action != "pass" && e.Action != "fail" && e.Action != "skip" {
			continue
		}
		verdicts++
		t.Run(e.Test, func(t *testing.T) {
			if e.Action != "pass" {
				t.Error(printed[e.Test])
			}
		})
	}
	require.Greater(t, verdicts, 72, "%s", out)
}
