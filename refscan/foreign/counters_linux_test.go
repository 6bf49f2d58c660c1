//go:build amd64 || arm64

package foreign_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan/foreign"
)

// openCounters opens the counters of a running subject. Where a container forbids it, it skips the
// test.
func openCounters(t *testing.T, pid int) *foreign.Counters {
	t.Helper()
	c, err := foreign.OpenCounters(context.Background(), pid)
	if err != nil && strings.Contains(err.Error(), "may not be looked into") {
		t.Skipf("reading other processes is not permitted here: %v", err)
	}
	require.NoError(t, err)
	return c
}

// The counters of a running process advance, and return ErrEnded when it has ended.
func TestCounters(t *testing.T) {
	for name, flags := range map[string][]string{"default": nil, "pie": {"-buildmode=pie"}} {
		t.Run(name, func(t *testing.T) {
			if flags != nil { // it compiles the standard library again
				require.Slow(t)
			}
			cmd, _ := start(t, build(t, flags...), "100000", "busy")
			c := openCounters(t, cmd.Process.Pid)
			first, err := c.Last()
			require.NoError(t, err)
			last, whole := first, 0
			// The first may date from startup. On a busy machine the next collection may have begun
			// when one is looked at.
			for last.Number < first.Number+3 || whole == 0 && last.Number < first.Number+1000 {
				last, err = c.Last()
				require.NoError(t, err)
				if _, known := last.Least(); known {
					whole++
				}
			}
			require.Positive(t, whole, "what was allocated while it marked is never known")
			const each = 24 + 32 + 24 // a name, four numbers, and the object that refers to both
			require.True(t, last.Marked >= 100_000*each && last.Marked < 10*100_000*each, last.Marked)
			unharmed(t, cmd.Process.Pid)
			require.NoError(t, cmd.Process.Kill())
			for err == nil {
				_, err = c.Last()
			}
			require.True(t, errors.Is(err, foreign.ErrEnded), err)
			require.NoError(t, c.Close())
		})
	}
}

func TestOpenCountersRefuses(t *testing.T) {
	_, err := foreign.OpenCounters(context.Background(), 1<<22+1)
	require.ErrorContains(t, err, "there is no process 4194305")
}
