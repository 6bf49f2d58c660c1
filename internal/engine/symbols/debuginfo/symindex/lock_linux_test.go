package symindex

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestNamedPipeAsTheLock: a named pipe in the place of the lock file must not make Lock wait.
func TestNamedPipeAsTheLock(t *testing.T) {
	c, warning := OpenCache(t.TempDir())
	require.Empty(t, warning)
	require.NoError(t, syscall.Mkfifo(filepath.Join(c.dir, lockName), 0o600))
	unlock, err := c.Lock(t.Context(), time.Minute)
	require.NoError(t, err)
	unlock()
}
