//go:build amd64 || arm64

package refscanhttp

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A program without debug information cannot tell, and says what helps.
func TestStripped(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "subject")
	built, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", exe, "./testdata/subject").CombinedOutput()
	require.NoError(t, err, "%s", built)
	b, err := exec.CommandContext(t.Context(), exe).CombinedOutput()
	require.NoError(t, err, "%s", b)
	require.Equal(t, "503\ncould not tell what is retained: "+
		"refscan: the program was linked without debug information, and only tests can be linked again (link it without -s and -w)\n", string(b))
}
