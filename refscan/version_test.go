//go:build linux && (amd64 || arm64)

package refscan_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// capture builds testdata/version, and returns what it says.
func capture(t *testing.T, ldflags string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "version")
	out, err := exec.Command("go", "build", "-ldflags="+ldflags, "-o", program, "./testdata/version").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// A program without debug information has no snapshot, and says what helps.
func TestStripped(t *testing.T) {
	require.Slow(t)
	require.Equal(t, "refscan: the program was linked without debug information, and only tests can be linked again (link it without -s and -w)",
		capture(t, "-s -w"))
}

// A program records the Go version that it was built with. Capture checks it before anything else,
// and so recognises an unknown version. The linker can write a version into a program.
func TestUnknownVersions(t *testing.T) {
	require.Slow(t)
	t.Run("newer", func(t *testing.T) {
		out := capture(t, "-X=runtime.buildVersion=go1.99.1")
		require.Contains(t, out, "the program was built with go1.99.1; the runtime structures of Go 1.26 and 1.27 are known")
		require.Contains(t, out, "or use a newer leakgate")
	})
	t.Run("setting", func(t *testing.T) {
		out := capture(t, "-X=runtime.buildVersion="+runtime.Version()+"-X:simd,movinggc")
		require.Contains(t, out, "the program was built with GOEXPERIMENT=movinggc ("+runtime.Version())
	})
	t.Run("known", func(t *testing.T) {
		require.Equal(t, "captured <nil>", capture(t, ""))
	})
}
