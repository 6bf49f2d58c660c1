//go:build unix

package twin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestInputsThatOthersCanWrite: the list of inputs is refused if a user can have written it who
// could not write the executable.
func TestInputsThatOthersCanWrite(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "x.test")
	require.NoError(t, os.WriteFile(exe, nil, 0o700))
	require.NoError(t, os.WriteFile(inputsOf(exe), []byte("packagefile x.test=a\n"), 0o600))
	for _, c := range []struct {
		exe, list os.FileMode
		trusted   bool
	}{{0o700, 0o644, true}, {0o755, 0o664, false}, {0o775, 0o664, true}, {0o775, 0o666, false}} {
		require.NoError(t, os.Chmod(exe, c.exe))
		require.NoError(t, os.Chmod(inputsOf(exe), c.list))
		_, err := mainPackage(exe)
		assert.Equal(t, c.trusted, err == nil, "%v %v: %v", c.exe, c.list, err)
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chmod(inputsOf(exe), 0o600))
		require.NoError(t, os.Chown(inputsOf(exe), 12345, -1))
		_, err := mainPackage(exe)
		require.ErrorIs(t, err, ErrNoInputs)
	}
}
