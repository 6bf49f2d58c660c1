//go:build unix

package twin

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestRun(t *testing.T) {
	const sh = "/bin/sh"
	require.NoError(t, executable(sh))
	env := []string{"A=first", "B=b", "A=last"}
	out, err := run(t.Context(), "/", env, sh, "-c", "echo $A $B; pwd; cat; echo oops >&2")
	require.NoError(t, err)
	require.Equal(t, "last b\n/\noops\n", out)

	out, err = run(t.Context(), "/", env, sh, "-c", "echo no; exit 3")
	require.ErrorContains(t, err, "exit status 3")
	require.Equal(t, "no\n", out)

	out, err = run(t.Context(), "/", nil, sh, "-c", "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done")
	require.NoError(t, err)
	require.Len(t, out, outputLimit)

	_, err = run(t.Context(), "/", nil, "/does/not/exist")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, executable("/"), os.ErrPermission)
}

// TestRunKilled ends a command whose child holds the output open.
func TestRunKilled(t *testing.T) {
	const sh = "/bin/sh"
	require.NoError(t, executable(sh))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	out, err := run(ctx, "/", os.Environ(), sh, "-c", "echo begun; sleep 1000 & sleep 1000")
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, strings.HasPrefix("begun\n", out), "%q", out)
	_, err = run(ctx, "/", nil, sh, "-c", "true")
	require.ErrorIs(t, err, context.Canceled)
}
