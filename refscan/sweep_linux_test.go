//go:build amd64 || arm64

package refscan_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

// A memoryGroup is a cgroup for one test, below the cgroup that the test runs in.
type memoryGroup struct {
	folder string
	v1     bool
}

// newMemoryGroup skips the test where no memory cgroup can be made.
func newMemoryGroup(t *testing.T) *memoryGroup {
	t.Helper()
	list, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	for line := range strings.Lines(string(list)) {
		// "4:memory:/docker/1234" or "0::/user.slice" (cgroups(7)).
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		g := &memoryGroup{v1: strings.Contains(","+fields[1]+",", ",memory,")}
		root := "/sys/fs/cgroup"
		if g.v1 {
			root += "/memory"
		} else if fields[1] != "" {
			continue
		}
		g.folder = filepath.Join(root, fields[2], fmt.Sprintf("leakgate-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
		if os.Mkdir(g.folder, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(g.folder); !errors.Is(err, os.ErrNotExist) {
				assert.NoError(t, err)
			}
		})
		if _, err := os.Stat(filepath.Join(g.folder, g.limitFile())); err == nil {
			return g
		}
	}
	t.Skip("no memory cgroup may be made here")
	return nil
}

func (g *memoryGroup) limitFile() string {
	if g.v1 {
		return "memory.limit_in_bytes"
	}
	return "memory.max"
}

func (g *memoryGroup) write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(g.folder, file), []byte(text), 0o644))
}

func (g *memoryGroup) number(t *testing.T, file, key string) int64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(g.folder, file))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, key); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			require.NoError(t, err)
			return n
		}
	}
	t.Fatalf("%s has no %q: %s", file, key, data)
	return 0
}

// kills is how often the kernel killed a process in the group because memory ran out.
func (g *memoryGroup) kills(t *testing.T) int64 {
	if g.v1 {
		return g.number(t, "memory.oom_control", "oom_kill ")
	}
	return g.number(t, "memory.events", "oom_kill ")
}

func (g *memoryGroup) peak(t *testing.T) int64 {
	if g.v1 {
		return g.number(t, "memory.max_usage_in_bytes", "")
	}
	return g.number(t, "memory.peak", "")
}

// sweepVariable makes TestInMemoryGroup run, with a kind of heap and its size in MB.
const sweepVariable = "LEAKGATE_TEST_GROUP"

// A sweepStep is one run of TestInMemoryGroup.
type sweepStep struct {
	resident, limit, peak, kills int64
	result                       string
}

// runInGroup starts a process with a heap, limits it to factor times its resident size, and makes
// it take a snapshot and scan it.
func runInGroup(t *testing.T, heap string, factor float64) sweepStep {
	t.Helper()
	g := newMemoryGroup(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestInMemoryGroup$")
	cmd.Env = append(os.Environ(), sweepVariable+"="+heap)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	g.write(t, "cgroup.procs", strconv.Itoa(cmd.Process.Pid))
	lines := bufio.NewReader(stdout)
	order := func() string {
		_, err := stdin.Write([]byte("go\n"))
		require.NoError(t, err)
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			require.NoError(t, err)
		}
		return strings.TrimSpace(line)
	}
	var s sweepStep
	s.resident, err = strconv.ParseInt(order(), 10, 64)
	require.NoError(t, err)
	if factor > 0 {
		s.limit = int64(factor * float64(s.resident))
		g.write(t, g.limitFile(), strconv.FormatInt(s.limit, 10))
	}
	s.result = order()
	s.kills = g.kills(t)
	if g.v1 {
		s.peak = g.peak(t)
	}
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil {
		s.result += fmt.Sprintf(" (%v: %s)", err, rest)
	}
	require.NoError(t, os.Remove(g.folder)) // at once: a test that is killed runs no cleanups
	return s
}

type sweepSession struct {
	name string
	buf  []byte
	next *sweepSession
	tags []*string
}

type sweepNode struct {
	next, other *sweepNode
	id          int
	_           *int
}

var (
	sweepSessions map[int]*sweepSession
	sweepNodes    *sweepNode
	sweepKept     any
)

type sweepPointer struct{ p *sweepPointer }

// sweepHeaps fill the heap with about that many bytes.
var sweepHeaps = map[string]func(bytes int){
	// Most of it has no pointers, as in most programs.
	"sessions": func(bytes int) {
		const size = 80 + 32 + 256 + 4*8 + 2*16
		sweepSessions = make(map[int]*sweepSession)
		for i := range bytes / size {
			s := &sweepSession{name: fmt.Sprintf("session %08d of the sweep", i), buf: make([]byte, 256), next: sweepSessions[i-1]}
			for range 4 {
				s.tags = append(s.tags, &s.name)
			}
			sweepSessions[i] = s
		}
	},
	// The worst case: small objects, all pointers.
	"nodes": func(bytes int) {
		for i := range bytes / 32 {
			sweepNodes = &sweepNode{next: sweepNodes, other: sweepNodes, id: i}
		}
	},
	// Nodes that refer to any others, so that each step leads elsewhere in memory.
	"tangle": func(bytes int) {
		all := make([]*sweepNode, bytes/40)
		for i := range all {
			all[i] = &sweepNode{id: i}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for _, n := range all {
			n.next, n.other = all[random.IntN(len(all))], all[random.IntN(len(all))]
		}
		sweepKept = all
	},
	// One object that refers to all others.
	"wide": func(bytes int) {
		all := make([]*sweepPointer, bytes/16)
		for i := range all {
			all[i] = &sweepPointer{}
			if i > 0 {
				all[i].p = all[i-1]
			}
		}
		sweepKept = all
	},
	// Pointers at the start of large objects that have no others.
	"buffers": func(bytes int) {
		type page struct {
			next *page
			_    [4000]byte
		}
		var list *page
		for range bytes / 4096 {
			list = &page{next: list}
		}
		sweepKept = list
	},
	"maps": func(bytes int) {
		all := make(map[string]map[int]any)
		for i := range bytes / 1000 {
			all[strconv.Itoa(i)] = map[int]any{1: i, 2: "text", 3: &sweepNode{id: i}, 4: []any{i, all}, 5: func() int { return i }}
		}
		sweepKept = all
	},
	"tiny": func(bytes int) {
		all := make([]*int16, bytes/10)
		for i := range all {
			all[i] = new(int16)
		}
		sweepKept = all
	},
	// Most of each span is free.
	"sparse": func(bytes int) {
		var list *sweepNode
		for i := range bytes / 32 {
			n := &sweepNode{id: i}
			if i%200 == 0 {
				n.next, list = list, n
			}
		}
		sweepKept = list
	},
}

// heapOf returns a function that fills the heap as an environment variable says: the name of a
// heap, and megabytes. It returns nil if the variable is not set.
func heapOf(t *testing.T, variable string) (fill func()) {
	t.Helper()
	heap, size, _ := strings.Cut(os.Getenv(variable), " ")
	if sweepHeaps[heap] == nil {
		return nil
	}
	megabytes, err := strconv.Atoi(size)
	require.NoError(t, err)
	return func() { sweepHeaps[heap](megabytes << 20) }
}

// TestInMemoryGroup is what runInGroup runs.
func TestInMemoryGroup(t *testing.T) {
	fill := heapOf(t, sweepVariable)
	if fill == nil {
		return // runInGroup runs it
	}
	in := bufio.NewReader(os.Stdin)
	_, err := in.ReadString('\n')
	require.NoError(t, err)
	fill()
	runtime.GC()
	rss := resident("VmRSS:")
	require.Positive(t, rss)
	fmt.Println(rss)
	_, err = in.ReadString('\n')
	require.NoError(t, err)
	s, err := refscan.Capture()
	if err == nil {
		_, err = s.Scan()
		err = errors.Join(err, s.Close())
	}
	if u := (*refscan.UnavailableError)(nil); errors.As(err, &u) {
		fmt.Println("unknown:", u.Cause, "|", u.Err, "|", u.Remedy)
		return
	}
	require.NoError(t, err)
	fmt.Println("verdict")
	runtime.KeepAlive(sweepSessions)
	runtime.KeepAlive(sweepNodes)
	runtime.KeepAlive(sweepKept)
}

// TestSweepOfMemoryLimits limits a program to 1.2 to 4 times its resident size. Under each limit
// the program has a verdict, or the reason why there is none, and the kernel never kills it. At
// twice the resident size there is a verdict. For a heap of nothing but small objects with
// pointers, the worst case, that takes a disk.
func TestSweepOfMemoryLimits(t *testing.T) {
	long(t)
	require.Slow(t)
	step := 0.4
	if os.Getenv("LEAKGATE_LONG") != "" {
		step = 0.05
	}
	scan(t) // so that debug information is there
	for heap, enough := range map[string]float64{"sessions 60": 2, "nodes 60": 2, "tangle 60": 2} {
		least := math.Inf(1)
		for i := 0; ; i++ {
			factor := math.Round((1.2+float64(i)*step)*100) / 100
			if factor > 4 {
				break
			}
			s := runInGroup(t, heap, factor)
			t.Logf("%s, %.2f: resident %d MB, limit %d MB, peak %d MB: %s", heap, factor, s.resident>>20, s.limit>>20, s.peak>>20, s.result)
			assert.Zero(t, s.kills, "processes were killed")
			if s.result == "verdict" {
				least = min(least, factor)
				continue
			}
			assert.Contains(t, s.result, "unknown: there is not enough memory")
			assert.Contains(t, s.result, "raise the container's memory limit to")
		}
		assert.LessOrEqual(t, least, enough, heap)
	}
}
