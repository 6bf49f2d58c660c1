//go:build amd64 || arm64

package foreign_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/foreign"
)

// scanAudited scans a subject that collects garbage all the time. Where a container forbids ptrace,
// it skips the test.
func scanAudited(t *testing.T, pid int, opts ...foreign.ProcessOption) (*foreign.Process, *refscan.Report, *foreign.Audit) {
	t.Helper()
	p, r, a, err := foreign.ScanAudited(context.Background(), pid, nil, opts...)
	if err != nil && strings.Contains(err.Error(), "may not be looked into") {
		t.Skipf("ptrace is not permitted here: %v", err)
	}
	require.NoError(t, err)
	return p, r, a
}

// The next collection finds none of the unreached objects alive, and the process is unharmed.
func TestScanAudited(t *testing.T) {
	rounds := require.Rounds(3, 30)
	for name, flags := range map[string][]string{"default": nil, "pie": {"-buildmode=pie"}} {
		t.Run(name, func(t *testing.T) {
			if flags != nil { // it compiles the standard library again
				require.Slow(t)
			}
			cmd, _ := start(t, build(t, flags...), "5000", "busy")
			unreached, missed := int64(0), int64(0)
			for range rounds {
				p, r, a := scanAudited(t, cmd.Process.Pid)
				missed += a.MissedObjects
				require.Positive(t, a.Waited)
				require.Positive(t, p.Paused())
				require.Equal(t, "off", r.Stopped.Phase)
				unreached += r.Stopped.UnreachedObjects
				r.Stopped.Lost = 0
				checkReport(t, r, 5000)
				unharmed(t, cmd.Process.Pid)
			}
			// Once in some hundred scans the collector itself keeps garbage alive, because of a
			// word on the stack of a goroutine that it interrupted.
			t.Logf("%d objects were unreached in %d scans, and %d of them alive later", unreached, rounds, missed)
			require.True(t, missed < int64(rounds), missed)
		})
	}
}

// An audit finds objects that are alive and were not reached: by the snapshot's own marks, that is
// all unreached objects.
func TestAuditFinds(t *testing.T) {
	cmd, _ := start(t, build(t), "5000", "busy")
	for range 20 {
		p := open(t, cmd.Process.Pid)
		r, err := p.Scan()
		require.NoError(t, err)
		objects, bytes, err := p.AuditedByItself()
		require.NoError(t, err)
		require.NoError(t, p.Close())
		// objects in spans that are just being swept are left out
		require.True(t, objects <= r.Stopped.UnreachedObjects && bytes <= r.Stopped.UnreachedBytes, "%d of %d", objects, r.Stopped.UnreachedObjects)
		if objects > 0 {
			return
		}
	}
	t.Error("in 20 snapshots of a busy program there was never an object that nothing leads to")
}

// A process that ends before it collects garbage cannot be audited: that is an error. For an idle
// process the audit waits until the context is done.
func TestAuditWithoutACollection(t *testing.T) {
	cmd, _ := start(t, build(t), "1000")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, _, err := foreign.ScanAudited(ctx, cmd.Process.Pid, nil)
	if err != nil && strings.Contains(err.Error(), "may not be looked into") {
		t.Skipf("ptrace is not permitted here: %v", err)
	}
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorAs(t, err, new(*refscan.UnavailableError))
	unharmed(t, cmd.Process.Pid)

	ended := make(chan error, 1)
	go func() {
		_, _, _, err := foreign.ScanAudited(context.Background(), cmd.Process.Pid, nil)
		ended <- err
	}()
	require.NoError(t, syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
	err = <-ended // killed before the scan, or while it waits
	require.ErrorAs(t, err, new(*refscan.UnavailableError))
}
