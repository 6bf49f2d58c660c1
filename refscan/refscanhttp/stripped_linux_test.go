//go:build amd64 || arm64

package refscanhttp

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/require"
)

// A program without debug information has an answer, which says what it lacks.
func TestStripped(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "subject")
	built, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", exe, "./testdata/subject").CombinedOutput()
	require.NoError(t, err, "%s", built)
	b, err := exec.CommandContext(t.Context(), exe).CombinedOutput()
	require.NoError(t, err, "%s", b)
	out := string(b)
	require.True(t, strings.HasPrefix(out, "200\n"), out)
	require.Contains(t, out, "names are missing: refscan: the program was linked without debug information")
	require.Contains(t, out, "*main.session")
}
