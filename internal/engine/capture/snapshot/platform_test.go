package snapshot

import (
	"errors"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// On a system that this package was never run on, snapshots are refused unless the environment asks
// for them: the test is skipped.
func TestUntriedPlatforms(t *testing.T) {
	if !Supported {
		t.Skip("no snapshots on this system")
	}
	require.NoError(t, checkPlatform("linux/amd64", ""))
	require.NoError(t, checkPlatform("linux/arm64", inPlace))
	require.NoError(t, checkPlatform("windows/amd64", ""))
	require.NoError(t, checkPlatform("darwin/arm64", inPlace))
	for _, way := range []string{"", byFork} {
		require.Error(t, checkPlatform("windows/arm64", way))
		err := checkPlatform("darwin/arm64", way)
		var u *Unavailable
		require.ErrorAs(t, err, &u)
		assert.True(t, errors.Is(err, errors.ErrUnsupported))
		assert.Contains(t, u.Cause, "experimental")
		assert.Contains(t, u.Remedy, "LEAKGATE_FREEZE=inplace")
	}
}
