//go:build amd64 || arm64

package refscan_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/refscan"
)

// heapVariable passes a heapRequest to a test binary that is the child of a benchmark.
const heapVariable = "LEAKGATE_BENCH_HEAP"

// profileVariable names the file for a CPU profile of such a child.
const profileVariable = "LEAKGATE_BENCH_PROFILE"

type heapRequest struct {
	Shape   string
	Objects int
	Query   string // a key of heapQueries; "": a scan
}

// heapRound has the figures of one capture and scan.
type heapRound struct {
	Objects           int64 // alive
	GC, Capture, Scan time.Duration
	Pause             time.Duration
	Cores             float64 // processor time of the scan, divided by its wall time
	Image             int64   // bytes of spans with pointers
	// of the resident memory at its peak, in bytes; negative if the system does not tell
	Growth int64
}

func TestMain(m *testing.M) {
	request := os.Getenv(heapVariable)
	if request == "" {
		os.Exit(m.Run())
	}
	if err := serveHeap(request); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveHeap fills the heap, and scans it once for each line of the standard input.
func serveHeap(encoded string) error {
	var request heapRequest
	if err := json.Unmarshal([]byte(encoded), &request); err != nil {
		return err
	}
	shape, err := shapeNamed(request.Shape)
	if err != nil {
		return err
	}
	shape.fill(request.Objects)
	ask, known := heapQueries[request.Query]
	if !known {
		return fmt.Errorf("there is no query %q", request.Query)
	}
	if name := os.Getenv(profileVariable); name != "" {
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		r, err := queryRound(ask)
		if err != nil {
			return err
		}
		if err := answers.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// heapQueries ask something of a snapshot. Each prepares that, and returns what is to be timed.
var heapQueries = map[string]func(*refscan.Snapshot) (func() error, error){
	"": func(s *refscan.Snapshot) (func() error, error) {
		return func() error { return errOf(s.Scan()) }, nil
	},
	"retained": func(s *refscan.Snapshot) (func() error, error) {
		return func() error { return errOf(s.Scan(refscan.WithRetained())) }, nil
	},
	"held": func(s *refscan.Snapshot) (func() error, error) {
		_, err := s.Attribution() // types the heap
		return func() error {
			return errOf(s.Held(func(path string, _ *refscan.RootInfo) refscan.Match {
				if strings.HasPrefix(path, pkg+"bench") {
					return refscan.Selected
				}
				return refscan.NoMatch
			}))
		}, err
	},
	"paths": func(s *refscan.Snapshot) (func() error, error) {
		_, err := s.Attribution()
		if err != nil {
			return nil, err
		}
		addr, err := s.AliveInTheMiddle()
		return func() error { return errOf(s.Paths(addr, refscan.PathQuery{Limit: 2})) }, err
	},
}

func errOf[T any](_ T, err error) error { return err }

func queryRound(ask func(*refscan.Snapshot) (func() error, error)) (r heapRound, err error) {
	const collections = 3 // before, and as many after
	times := make([]time.Duration, 0, 2*collections)
	collect := func() {
		for range collections {
			start := time.Now()
			runtime.GC()
			times = append(times, time.Since(start))
		}
	}
	debug.FreeOSMemory() // memory freed in the round before must not hide this growth
	collect()
	before, known := resident("VmRSS:"), resetPeak()
	start := time.Now()
	s, err := refscan.Capture()
	if err != nil {
		return r, err
	}
	r.Capture = time.Since(start)
	query, err := ask(s)
	if err != nil {
		return r, err
	}
	busy := processorTime()
	start = time.Now()
	if err := query(); err != nil {
		return r, err
	}
	r.Scan = time.Since(start)
	r.Cores = float64(processorTime()-busy) / float64(r.Scan)
	r.Growth = resident("VmHWM:") - before
	if !known {
		r.Growth = -1
	}
	r.Pause, r.Objects = s.Pause(), s.Alive()
	for i := range s.Model().Spans {
		if span := &s.Model().Spans[i]; !span.NoScan {
			r.Image += int64(span.Size)
		}
	}
	if err := s.Close(); err != nil {
		return r, err
	}
	collect()
	slices.Sort(times)
	r.GC = times[collections]
	return r, nil
}

// processorTime is the processor time that all threads of the process have used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resetPeak sets the process's peak of resident memory to the present size (Linux,
// Documentation/filesystems/proc.rst); false if that is not possible here.
func resetPeak() bool { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil }

// resident returns a line of the process's status that counts memory, in bytes; 0 if there is none.
func resident(line string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(l, line); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
