package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A group is a memory cgroup of version 1 or 2, below the one that the test runs in.
type group struct {
	folder string
	v1     bool
}

var groups atomic.Int64

// newGroup makes a cgroup. It fails where none may be made.
func newGroup() (*group, error) {
	list, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	err = errors.New("no hierarchy with the controller memory")
	for line := range strings.Lines(string(list)) {
		// "4:memory:/docker/1234" or "0::/user.slice" (cgroups(7)).
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		g := &group{v1: strings.Contains(","+fields[1]+",", ",memory,")}
		root := "/sys/fs/cgroup"
		if g.v1 {
			root += "/memory"
		} else if fields[1] != "" {
			continue
		}
		g.folder = filepath.Join(root, fields[2], fmt.Sprintf("leakgate-memory-%d-%d", os.Getpid(), groups.Add(1)))
		if err = os.Mkdir(g.folder, 0o755); err != nil {
			continue
		}
		if _, err = os.Stat(filepath.Join(g.folder, g.limitFile())); err == nil {
			return g, nil
		}
		g.remove()
	}
	return nil, err
}

// needGroups skips the test where no memory cgroup may be made, and unless LEAKGATE_LIMITS is set.
func needGroups(t *testing.T) {
	t.Helper()
	if os.Getenv("LEAKGATE_LIMITS") == "" {
		t.Skip("takes minutes; the step memory of .ci/run runs it, or LEAKGATE_LIMITS=1")
	}
	g, err := newGroup()
	if err != nil {
		t.Skip("no memory cgroup may be made here: ", err)
	}
	g.remove()
}

func (g *group) limitFile() string {
	if g.v1 {
		return "memory.limit_in_bytes"
	}
	return "memory.max"
}

// limit sets the limit in bytes.
func (g *group) limit(bytes int64) error {
	return os.WriteFile(filepath.Join(g.folder, g.limitFile()), []byte(strconv.FormatInt(bytes, 10)), 0o644)
}

// peak returns the most bytes that the group had, 0 where the kernel does not tell.
func (g *group) peak() int64 {
	file := "memory.peak"
	if g.v1 {
		file = "memory.max_usage_in_bytes"
	}
	text, _ := os.ReadFile(filepath.Join(g.folder, file))
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// kills returns how many processes of the group the kernel killed for lack of memory.
func (g *group) kills() int64 {
	file := "memory.events"
	if g.v1 {
		file = "memory.oom_control"
	}
	text, _ := os.ReadFile(filepath.Join(g.folder, file))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// remove ends what is left in the group, and removes it.
func (g *group) remove() {
	for range 100 {
		if err := os.Remove(g.folder); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		list, _ := os.ReadFile(filepath.Join(g.folder, "cgroup.procs"))
		for line := range strings.Lines(string(list)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}
