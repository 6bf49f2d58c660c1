package twin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestNoRoom(t *testing.T) {
	inv := &invocation{goTool: "go", dir: "here"}
	var u *Unavailable
	require.ErrorAs(t, inv.explain(nil, "write /tmp/x: no space left on device", assert.AnError), &u)
	assert.Equal(t, "there is no room to link a twin with debug information", u.Cause)
	assert.Contains(t, u.Remedy, "LEAKGATE_CACHE")
}

// TestTwinsOfKilledProcesses: building a twin removes the folders that no process claims, and keeps
// those in use.
func TestTwinsOfKilledProcesses(t *testing.T) {
	parent := t.TempDir()
	left := filepath.Join(parent, tempName+"1234")
	require.NoError(t, os.MkdirAll(filepath.Join(left, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(left, "twin.test"), []byte("half"), 0o600))
	first, claim, err := tempDir(parent)
	require.NoError(t, err)
	require.NoDirExists(t, left)
	second, other, err := tempDir(parent)
	require.NoError(t, err)
	require.DirExists(t, first)
	require.NotEqual(t, first, second)
	twin := &Twin{dir: first, claim: claim}
	twin.Remove()
	twin.Remove()
	require.NoDirExists(t, first)
	require.NoError(t, other.Close()) // as if it was killed
	third, claim, err := tempDir(parent)
	require.NoError(t, err)
	require.NoDirExists(t, second)
	(&Twin{dir: third, claim: claim}).Remove()

	t.Setenv("TMPDIR", parent)
	t.Setenv("TMP", parent) // on Windows
	elsewhere, claim, err := tempDir(filepath.Join(parent, "missing"))
	require.NoError(t, err)
	require.Equal(t, parent, filepath.Dir(elsewhere))
	(&Twin{dir: elsewhere, claim: claim}).Remove()
}
