//go:build !windows

package headroom

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const mb = 1 << 20

// system writes the files of a system, whose names begin with /, and returns the System that reads
// them.
func system(t *testing.T, files map[string]string) System {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return System{Root: root}
}

const (
	v1Mounts = "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
		"32 24 0:28 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
	v2Mounts = "25 20 0:22 / /proc rw - proc proc rw\n30 24 0:26 / /sys/fs/cgroup rw,nsdelegate shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	noLimit  = "9223372036854771712\n"
)

func TestGroupsV1(t *testing.T) {
	files := map[string]string{
		"/proc/self/mountinfo":                                    v1Mounts,
		"/proc/self/cgroup":                                       "5:cpu:/other\n4:memory:/docker/12ab\n0::/\n",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes":             noLimit,
		"/sys/fs/cgroup/memory/memory.usage_in_bytes":             "5000000000\n",
		"/sys/fs/cgroup/memory/docker/memory.limit_in_bytes":      "1048576000\n", // 1000 MiB
		"/sys/fs/cgroup/memory/docker/memory.usage_in_bytes":      "943718400\n",  // 900 MiB
		"/sys/fs/cgroup/memory/docker/memory.stat":                "cache 1\ninactive_file 5\ntotal_inactive_file 20971520\n",
		"/sys/fs/cgroup/memory/docker/12ab/memory.limit_in_bytes": "524288000\n", // 500 MiB
		"/sys/fs/cgroup/memory/docker/12ab/memory.usage_in_bytes": "104857600\n", // 100 MiB
	}
	s := system(t, files)
	require.NoError(t, s.Check(Need{Resident: 120 * mb}))
	err := s.Check(Need{Resident: 121 * mb})
	var short *Shortage
	require.ErrorAs(t, err, &short)
	assert.EqualError(t, err, "121 MiB more memory are needed, and memory.limit_in_bytes of the cgroup /docker leaves 120 MiB")
	assert.Contains(t, short.Way(), "to 1001 MiB or more")
	assert.True(t, short.IsResident())
	require.ErrorContains(t, s.Check(Need{Resident: 900 * mb}), "cgroup /docker leaves")

	// A container without its own cgroup namespace: its group is the root of the mount.
	files["/proc/self/mountinfo"] = "32 24 0:28 /docker/12ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "104857600\n"
	files["/sys/fs/cgroup/memory/memory.usage_in_bytes"] = "94371840\n"
	require.ErrorContains(t, system(t, files).Check(Need{Resident: 11 * mb}), "memory.limit_in_bytes of the cgroup / leaves 10 MiB")
}

func TestSwapV1(t *testing.T) {
	files := map[string]string{
		// 1000 MiB
		"/proc/meminfo":                                     "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\nSwapFree: 1024000 kB\n",
		"/proc/self/mountinfo":                              v1Mounts,
		"/proc/self/cgroup":                                 "4:memory:/\n",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes":       "104857600\n", // 100 MiB
		"/sys/fs/cgroup/memory/memory.usage_in_bytes":       "94371840\n",  // 90 MiB
		"/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes": "115343360\n", // 110 MiB
		"/sys/fs/cgroup/memory/memory.memsw.usage_in_bytes": "94371840\n",
	}
	s := system(t, files)
	require.NoError(t, s.Check(Need{Resident: 20 * mb}))
	require.Error(t, s.Check(Need{Resident: 21 * mb}))
	files["/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"] = "104857600\n" // no swap
	require.Error(t, system(t, files).Check(Need{Resident: 11 * mb}))
}

func TestGroupsV2(t *testing.T) {
	files := map[string]string{
		"/proc/self/mountinfo":                              v2Mounts,
		"/proc/self/cgroup":                                 "0::/kubepods/pod1/app\n",
		"/sys/fs/cgroup/kubepods/memory.max":                "max\n",
		"/sys/fs/cgroup/kubepods/memory.high":               "max\n",
		"/sys/fs/cgroup/kubepods/memory.current":            "5000000000\n",
		"/sys/fs/cgroup/kubepods/pod1/memory.max":           "1048576000\n", // 1000 MiB
		"/sys/fs/cgroup/kubepods/pod1/memory.high":          "max\n",
		"/sys/fs/cgroup/kubepods/pod1/memory.current":       "104857600\n", // 100 MiB
		"/sys/fs/cgroup/kubepods/pod1/app/memory.max":       "524288000\n", // 500 MiB
		"/sys/fs/cgroup/kubepods/pod1/app/memory.high":      "419430400\n", // 400 MiB
		"/sys/fs/cgroup/kubepods/pod1/app/memory.current":   "104857600\n", // 100 MiB
		"/sys/fs/cgroup/kubepods/pod1/app/memory.stat":      "anon 1\ninactive_file 10485760\nslab_reclaimable 0\n",
		"/sys/fs/cgroup/kubepods/pod1/app/memory.oom.group": "1\n",
	}
	s := system(t, files)
	require.NoError(t, s.Check(Need{Resident: 310 * mb}))
	err := s.Check(Need{Resident: 311 * mb})
	require.ErrorContains(t, err, "memory.high of the cgroup /kubepods/pod1/app leaves 310 MiB")
	require.ErrorContains(t, s.Check(Need{Resident: 1200 * mb}), "memory.high")

	files["/sys/fs/cgroup/kubepods/pod1/app/memory.high"] = "max\n"
	require.ErrorContains(t, system(t, files).Check(Need{Resident: 411 * mb}), "memory.max of the cgroup /kubepods/pod1/app leaves 410 MiB")

	files["/sys/fs/cgroup/kubepods/pod1/memory.current"] = "1048576000\n"
	require.ErrorContains(t, system(t, files).Check(Need{Resident: mb}), "memory.max of the cgroup /kubepods/pod1 leaves 0 MiB")

	// A process in its own cgroup namespace sees its group as the root.
	files["/proc/self/cgroup"] = "0::/../other\n"
	files["/sys/fs/cgroup/memory.max"] = "104857600\n"
	files["/sys/fs/cgroup/memory.current"] = "94371840\n"
	require.ErrorContains(t, system(t, files).Check(Need{Resident: 11 * mb}), "memory.max of the cgroup / leaves 10 MiB")
}

// TestLeft: Left is the room of the tightest limit, less the part of the need that this limit
// counts.
func TestLeft(t *testing.T) {
	files := map[string]string{
		"/proc/meminfo":        "MemTotal: 8000000 kB\nMemAvailable: 1024000 kB\nSwapFree: 0 kB\n",
		"/proc/self/limits":    "Max data size  209715200  unlimited  bytes\nMax address space  1073741824  unlimited  bytes\n",
		"/proc/self/status":    "VmData:\t102400 kB\nVmSize:\t204800 kB\n",
		"/proc/self/mountinfo": v2Mounts,
		"/proc/self/cgroup":    "0::/\n",
	}
	s := system(t, files)
	require.EqualValues(t, 100*mb, s.Left(Need{}), "data")
	require.EqualValues(t, 90*mb, s.Left(Need{Resident: 50 * mb, Private: 10 * mb}))
	require.EqualValues(t, 24*mb, s.Left(Need{Address: 800 * mb}), "address space")
	files["/sys/fs/cgroup/memory.max"], files["/sys/fs/cgroup/memory.current"] = "104857600\n", "94371840\n"
	s = system(t, files)
	require.EqualValues(t, 3*mb, s.Left(Need{Resident: 7 * mb}), "cgroup")
	require.Zero(t, s.Left(Need{Resident: 11 * mb}))
	require.EqualValues(t, math.MaxInt64, system(t, nil).Left(Need{Resident: mb}), "nothing is known")
}

func TestSwapV2(t *testing.T) {
	files := map[string]string{
		"/proc/meminfo":                      "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\nSwapFree: 1024000 kB\n",
		"/proc/self/mountinfo":               v2Mounts,
		"/proc/self/cgroup":                  "0::/\n",
		"/sys/fs/cgroup/memory.max":          "104857600\n",
		"/sys/fs/cgroup/memory.current":      "94371840\n",
		"/sys/fs/cgroup/memory.swap.max":     "20971520\n",
		"/sys/fs/cgroup/memory.swap.current": "10485760\n",
	}
	s := system(t, files)
	require.NoError(t, s.Check(Need{Resident: 20 * mb}))
	require.Error(t, s.Check(Need{Resident: 21 * mb}))
	files["/sys/fs/cgroup/memory.swap.max"] = "0\n"
	require.Error(t, system(t, files).Check(Need{Resident: 11 * mb}))
}

func TestResourceLimits(t *testing.T) {
	limits := func(space, data string) System {
		return system(t, map[string]string{
			"/proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n" +
				"Max data size             " + data + "            unlimited            bytes\n" +
				"Max address space         " + space + "           unlimited            bytes\n",
			// 100 and 50 MiB
			"/proc/self/status": "Name:\tx\nVmSize:\t  102400 kB\nVmData:\t   51200 kB\n",
		})
	}
	require.NoError(t, limits("unlimited", "unlimited").Check(Need{Resident: 1 << 50, Private: 1 << 50, Address: 1 << 50}))
	s := limits("209715200", "104857600") // 200 and 100 MiB
	require.NoError(t, s.Check(Need{Resident: 1 << 40, Private: 50 * mb, Address: 100 * mb}))
	require.ErrorContains(t, s.Check(Need{Address: 101 * mb}), "(ulimit -v) leaves 100 MiB")
	err := s.Check(Need{Private: 51 * mb})
	require.ErrorContains(t, err, "(ulimit -d) leaves 50 MiB")
	var short *Shortage
	require.ErrorAs(t, err, &short)
	assert.Contains(t, short.Way(), "raise ulimit -d to 101 MiB")
	assert.False(t, short.IsResident())
}

func TestMachine(t *testing.T) {
	s := system(t, map[string]string{"/proc/meminfo": "MemTotal:  8192000 kB\nMemFree: 1 kB\nMemAvailable: 102400 kB\nSwapFree: 51200 kB\n"})
	require.NoError(t, s.Check(Need{Resident: 150 * mb}))
	require.ErrorContains(t, s.Check(Need{Resident: 151 * mb}), "the machine's memory leaves 150 MiB")
}

// TestUnreadable: what cannot be read, or makes no sense, is no limit.
func TestUnreadable(t *testing.T) {
	require.NoError(t, System{Root: t.TempDir()}.Check(Need{Resident: 1 << 60}))
	for _, text := range []string{"", "x", ":::", "0::/\n", "- - -", " - cgroup2 x rw", strings.Repeat("1 ", 20) + "- cgroup2 a b"} {
		s := system(t, map[string]string{
			"/proc/self/mountinfo": text, "/proc/self/cgroup": text, "/proc/self/limits": text, "/proc/meminfo": text, "/proc/self/status": text,
		})
		require.NoError(t, s.Check(Need{Resident: 1 << 60, Private: 1 << 60, Address: 1 << 60}), "%q", text)
	}
}

// TestHere: the figures of the running system make sense.
func TestHere(t *testing.T) {
	for _, l := range (System{}).Limits() {
		t.Logf("%s: %d MiB, of which %d are left", l.Name, l.Max>>20, l.Room>>20)
		assert.Positive(t, l.Max)
	}
	require.NoError(t, System{}.Check(Need{}))
}

// The groups of a controller are found in both versions, below the mount, with their ancestors.
func TestGroups(t *testing.T) {
	v1 := system(t, map[string]string{
		"/proc/self/mountinfo":                       "33 24 0:29 /docker /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
		"/proc/self/cgroup":                          "5:cpu:/other\n8:pids:/docker/12ab\n",
		"/sys/fs/cgroup/pids/12ab/pids.current":      "7\n",
		"/sys/fs/cgroup/pids/docker/12ab/pids.other": "1\n",
	})
	require.Equal(t, []string{"/sys/fs/cgroup/pids/12ab", "/sys/fs/cgroup/pids"}, v1.Groups("pids"))
	v2 := system(t, map[string]string{
		"/proc/self/mountinfo":                     v2Mounts,
		"/proc/self/cgroup":                        "0::/user/a\n",
		"/sys/fs/cgroup/user/a/cgroup.controllers": "pids\n",
	})
	require.Equal(t, []string{"/sys/fs/cgroup/user/a", "/sys/fs/cgroup/user", "/sys/fs/cgroup"}, v2.Groups("pids"))
}
