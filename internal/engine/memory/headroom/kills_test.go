//go:build !windows

package headroom

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// The kills of the process's own cgroup count, in both versions, and not those of its ancestors, in
// which other containers are.
func TestKills(t *testing.T) {
	files := map[string]string{
		"/proc/meminfo":                         "MemTotal: 2048000 kB\nMemAvailable: 1 kB\n",
		"/proc/self/mountinfo":                  v2Mounts,
		"/proc/self/cgroup":                     "0::/pod/app\n",
		"/sys/fs/cgroup/pod/memory.events":      "oom 0\noom_kill 7\n",
		"/sys/fs/cgroup/pod/app/memory.current": "1\n",
		"/sys/fs/cgroup/pod/app/memory.events":  "oom 1\noom_kill 1\n",
	}
	s := system(t, files)
	require.EqualValues(t, 1, s.Kills())
	require.Equal(t, "the machine's memory is 2000 MiB", s.Tightest())
	for name, text := range map[string]string{"pod/memory.max": "524288000\n", "pod/memory.current": "1\n", "pod/app/memory.max": "max\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Root, "sys", "fs", "cgroup", name), []byte(text), 0o644))
	}
	require.Equal(t, "memory.max of the cgroup /pod is 500 MiB", s.Tightest())

	v1 := system(t, map[string]string{
		"/proc/self/mountinfo":                            v1Mounts,
		"/proc/self/cgroup":                               "4:memory:/app\n",
		"/sys/fs/cgroup/memory/app/memory.limit_in_bytes": "524288000\n",
		"/sys/fs/cgroup/memory/app/memory.usage_in_bytes": "1\n",
		"/sys/fs/cgroup/memory/app/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
	})
	require.EqualValues(t, 2, v1.Kills())
	require.Equal(t, "memory.limit_in_bytes of the cgroup /app is 500 MiB", v1.Tightest())
}
