package debuginfo

import (
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A program that cannot be read since all descriptors are in use needs more of them, not another
// format.
func TestOpenWithoutDescriptors(t *testing.T) {
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: limit.Max}))
	_, err := Open(t.Context(), Options{CacheDir: "off", NoTwin: true})
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	var u *Unavailable
	require.ErrorAs(t, err, &u)
	assert.Contains(t, u.Remedy, "ulimit -n")
}
