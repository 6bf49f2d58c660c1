//go:build go1.25

package alloc

import (
	"runtime/trace"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// Beside a flight recorder a trace can be started, but has no allocations.
func TestFlightRecorder(t *testing.T) {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	require.NoError(t, recorder.Start())
	_, err := record(opOf(allocate[0].f), 1, time.Minute)
	recorder.Stop()
	var u *refscan.UnavailableError
	require.ErrorAs(t, err, &u)
	assert.Contains(t, u.Remedy, "flight recorder")
}
