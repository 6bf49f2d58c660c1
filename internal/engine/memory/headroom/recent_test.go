//go:build !windows

package headroom

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestRecent: ample memory is not measured again for a while; all other memory is.
func TestRecent(t *testing.T) {
	machine := func(available string) map[string]string {
		return map[string]string{"/proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: " + available + " kB\nSwapFree: 0 kB\n"}
	}
	r := Recent{System: system(t, machine("4194304"))} // 4 GiB
	little, much := Need{Resident: 10 * mb}, Need{Resident: 2000 * mb}
	meminfo := filepath.Join(r.Root, "proc", "meminfo")
	require.NoError(t, r.Check(little))
	require.NoError(t, r.Check(much))
	require.NoError(t, os.WriteFile(meminfo, []byte(machine("1024")["/proc/meminfo"]), 0o644)) // 1 MiB
	r.until = realtime.Clock() + time.Hour                                                     // however slow the machine is
	require.NoError(t, r.Check(little), "was ample")
	require.Error(t, r.Check(much), "was enough")
	require.Error(t, r.Check(little), "is known not to be")
	require.NoError(t, os.WriteFile(meminfo, []byte(machine("4194304")["/proc/meminfo"]), 0o644))
	require.NoError(t, r.Check(little))
	require.NoError(t, os.WriteFile(meminfo, []byte(machine("1024")["/proc/meminfo"]), 0o644))
	r.until = realtime.Clock()
	require.Error(t, r.Check(little), "was long ago")
	r.limits, r.until = nil, realtime.Clock()+time.Hour
	r.System = system(t, machine("1024"))
	require.Error(t, r.Check(little), "of another system")
}
