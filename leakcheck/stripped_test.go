package leakcheck

import (
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestStripped runs a stripped test binary where there is no toolchain to link it again with, as on
// another machine. Nothing can be told then, and the first lines say why, and what helps.
func TestStripped(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	binary := filepath.Join(t.TempDir(), "stripped.test")
	if out, ok := m.run(t, "stripped", nil, "go", "test", "-c", "-o", binary, "-trimpath", "-ldflags=-s -w"); !ok {
		t.Fatal("\n" + out)
	}
	out, _ := m.run(t, "stripped", []string{"PATH=", "GOROOT=", "LEAKGATE_CACHE=off"}, binary, "-test.v")
	for _, test := range []string{"TestType", "TestHeld", "TestRoot", "TestGoroutines", "TestGolden", "TestGrowth"} {
		require.Regexp(t, `=== RUN   `+test+`
 .*UNKNOWN: could not tell .*
 +cause:  the test has no debug information, and no go command was found to link it again
 +remedy: put go 1\..* in PATH, or run go test with -ldflags='-s=0 -w=0', or use leakgate run, which does
(?s:.*?)--- FAIL: `+test+` `, out)
	}
}
