//go:build linux && (amd64 || arm64)

package freeze

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// helperVariable makes the test binary run one of helpers instead of its tests; the value is the
// helper's name and its arguments, separated by spaces.
const helperVariable = "LEAKGATE_FREEZE_HELPER"

var helpers = map[string]func(args []string) error{
	"hold":    holdSnapshot,
	"nothing": func([]string) error { return nil },
	"refuse":  takeUnderFilter,
	"bare":    takeWithoutStandardFiles,
}

func TestMain(m *testing.M) {
	name, rest, _ := strings.Cut(os.Getenv(helperVariable), " ")
	if name == "" {
		os.Exit(m.Run())
	}
	if err := helpers[name](strings.Fields(rest)); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

func helper(t testing.TB, command string) *exec.Cmd {
	t.Helper()
	if emulated(t) {
		t.Skip("an emulated process cannot run itself")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperVariable+"="+command)
	return cmd
}

// start runs a helper that writes one line and then goes on, and returns the line.
func start(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the helper wrote no line")
	return strings.TrimSpace(line)
}

func takeForTest(t testing.TB) *Process {
	t.Helper()
	p, err := Take()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// emulated reports whether a user-mode emulator runs the test. The emulator's differences: the
// child sends SIGCHLD; seccomp filters and programs for the emulated system do not work; and a
// partly readable range counts as unreadable.
func emulated(t testing.TB) bool {
	t.Helper()
	is, err := isEmulated()
	require.NoError(t, err)
	return is
}

var isEmulated = sync.OnceValues(func() (bool, error) {
	p, err := Take()
	if err != nil {
		return false, err
	}
	is := p.control.flags != 0
	return is, p.Close()
})

// answer is a variable for tests to read. Unlike a variable on a stack it does not move.
var answer uint64 = 42

// withoutCloseRange makes snapshots behave as on a kernel before 5.9.
func withoutCloseRange(t testing.TB) {
	closeRangeNumber = 100_000
	t.Cleanup(func() { closeRangeNumber = sysCloseRange })
}

// descriptors returns the open files of a process, by descriptor.
func descriptors(t testing.TB, pid string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + pid + "/fd")
	require.NoError(t, err)
	open := make(map[string]string)
	for _, e := range entries {
		// The descriptor that lists the directory is gone by now.
		if target, err := os.Readlink(filepath.Join("/proc", pid, "fd", e.Name())); err == nil {
			open[e.Name()] = target
		}
	}
	return open
}

// children returns the IDs of this process's children, zombies included.
func children(t testing.TB) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var ids []int
	for _, name := range stats {
		if pid, parent, _ := readStat(name); parent == os.Getpid() {
			ids = append(ids, pid)
		}
	}
	slices.Sort(ids)
	return ids
}

// readStat returns a process's ID, its parent's and its state; zeros if there is no such process.
func readStat(name string) (pid, parent int, state string) {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, ""
	}
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < 0 {
		return 0, 0, ""
	}
	pid, _ = strconv.Atoi(strings.TrimSpace(string(data[:open])))
	fields := strings.Fields(string(data[end+1:]))
	parent, _ = strconv.Atoi(fields[1])
	return pid, parent, fields[0]
}

// runs reports whether a process exists and is not a zombie. A child whose new parent does not reap
// it stays a zombie.
func runs(pid int) bool {
	_, _, state := readStat("/proc/" + strconv.Itoa(pid) + "/stat")
	return state != "" && state != "Z" && state != "X"
}

// nothingLeft checks at the end of a test that descriptors, mappings and children are as at its
// start.
func nothingLeft(t testing.TB) {
	t.Helper()
	openPoller(t)
	openBefore, childrenBefore := descriptors(t, "self"), children(t)
	t.Cleanup(func() {
		assert.Equal(t, openBefore, descriptors(t, "self"), "open descriptors")
		assert.Equal(t, childrenBefore, children(t), "children")
		assert.Zero(t, imageMappings(t), "mappings of image files")
	})
}

// openPoller makes the runtime open its network poller, which stays open. Otherwise a test that
// reads files would seem to leave it behind.
func openPoller(t testing.TB) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, errors.Join(r.Close(), w.Close()))
}

func imageMappings(t testing.TB) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), "memfd:leakgate")
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// eventually waits for an effect of another process; the limit only ends a test that fails.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 5*time.Millisecond, what)
}
