//go:build go1.25

package symindex

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Lock waits for other processes by the system's clock. That of a bubble leaps to the end of the
// wait.
func TestCacheLockInBubble(t *testing.T) {
	c, warning := OpenCache(t.TempDir())
	require.Empty(t, warning)
	unlock, err := c.Lock(t.Context(), time.Hour)
	require.NoError(t, err)
	waits := make(chan struct{})
	go func() {
		<-waits
		time.Sleep(50 * time.Millisecond)
		unlock()
	}()
	synctest.Test(t, func(t *testing.T) {
		close(waits)
		unlock, err := c.Lock(t.Context(), 10*time.Second)
		require.NoError(t, err)
		unlock()
	})
}
