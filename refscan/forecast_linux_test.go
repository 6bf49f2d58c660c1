//go:build amd64 || arm64

package refscan_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// forecastVariable makes TestForecastOfShape run, with one of sweepHeaps and a size in MB.
const forecastVariable = "LEAKGATE_TEST_FORECAST"

// A process never takes more memory than was forecast, whatever the shape of its heap: otherwise a
// memory limit would kill it.
func TestForecastCoversPeak(t *testing.T) {
	scan(t) // so that debug information is there
	self, err := os.Executable()
	require.NoError(t, err)
	size := " 16"
	if os.Getenv("LEAKGATE_LONG") != "" {
		size = " 100"
	}
	for heap := range sweepHeaps {
		t.Run(heap, func(t *testing.T) {
			if heap != "sessions" && heap != "wide" { // two of the shapes will do
				require.Slow(t)
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestForecastOfShape$")
			cmd.Env = append(os.Environ(), forecastVariable+"="+heap+size)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			if strings.HasPrefix(string(out), "no high-water mark") {
				t.Skip("the kernel does not let a process reset its peak (/proc/self/clear_refs)")
			}
			var asked, took int
			_, err = fmt.Sscanf(string(out), "asked %d kB, took %d kB\n", &asked, &took)
			require.NoError(t, err, "%s", out)
			t.Logf("asked for %d MB, took %d MB", asked>>10, took>>10)
			assert.GreaterOrEqual(t, asked, took)
		})
	}
}

// TestForecastOfShape is what TestForecastCoversPeak runs.
func TestForecastOfShape(t *testing.T) {
	fill := heapOf(t, forecastVariable)
	if fill == nil {
		return // TestForecastCoversPeak runs it
	}
	fill()
	runtime.GC()
	if !resetPeak() {
		fmt.Println("no high-water mark")
		return
	}
	before := resident("VmRSS:")
	require.Positive(t, before)
	s, err := refscan.Capture()
	require.NoError(t, err)
	image, rest := refscan.Forecast(s)
	_, err = s.Scan()
	require.NoError(t, errors.Join(err, s.Close()))
	peak := resident("VmHWM:")
	require.Positive(t, peak)
	fmt.Printf("asked %d kB, took %d kB\n", (image+rest)>>10, (peak-before)>>10)
	runtime.KeepAlive(sweepKept)
}
