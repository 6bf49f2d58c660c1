package assertion

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A golden file that cannot be written fails the test.
func TestGoldenThatCannotBeWritten(t *testing.T) {
	w := newWorld(t, sessions(1))
	// a link to nowhere stops even the superuser
	require.NoError(t, os.Symlink(filepath.Join(t.TempDir(), "missing"), filepath.Join(w.env.Dir, "testdata")))
	ft, ok := w.assert()
	assert.False(t, ok)
	assert.Contains(t, ft.errorText(), "leakcheck: cannot write the golden file: ")
	assert.Empty(t, w.stderr.String())
}
