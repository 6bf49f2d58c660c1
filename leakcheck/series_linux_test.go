//go:build amd64 || arm64

package leakcheck_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck"
)

// A series test makes many assertions that pass in one process, reads the process's figures after
// each, and judges the trend. A working program has a bit more or less of everything from one
// moment to the next, so that two readings say nothing.

// A figure is an amount that grows with every round if each assertion leaks some of it.
type figure struct {
	name string
	// unit is the least that a leak adds in a round; more than half of it is a leak.
	unit float64
	// from is in how many rounds the trend shows through what the figure varies by itself.
	from int
	// leaps says that single events add as much as leaks of many rounds: the stack of a new thread
	// has 8 MiB.
	leaps bool
}

var figures = [...]figure{
	{name: "bytes of private mappings", unit: 4096, leaps: true},
	{name: "descriptors", unit: 1},
	{name: "goroutines", unit: 1},
	{name: "threads", unit: 1},
	{name: "bytes of the Go heap", unit: 8192},
	// The runtime keeps a record of each goroutine and each wait that there ever was at one time.
	// In the first hundreds of rounds these are some hundred bytes more a round.
	{name: "bytes of the Go heap, a small object", unit: 64, from: 2000},
	{name: "resident bytes of private memory", unit: 4096, from: 2000},
}

// A reading is the value of each figure at one moment.
type reading [len(figures)]float64

func readFigures(t *testing.T) (r reading) {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	field := func(name string) float64 {
		_, rest, ok := strings.Cut(string(status), "\n"+name+":")
		require.True(t, ok, name)
		n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		require.NoError(t, err)
		return n
	}
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	heap := float64(m.HeapAlloc)
	return reading{
		field("VmData") * 1024, float64(len(descriptors)), float64(runtime.NumGoroutine()), field("Threads"),
		heap, heap, field("RssAnon") * 1024,
	}
}

// trend returns how much a series grows with each step in its second half. It divides that half
// into ten parts and takes the median of each: overall is the difference between the first and the
// last, and steady the median of the differences between a part and the next. An event that happens
// a few times is in a few of those only. So is a slice that each round appends to, so steady is
// only for figures with leaps.
func trend(series []float64) (overall, steady float64) {
	const parts = 10
	series = series[len(series)/2:]
	size := len(series) / parts
	var medians, steps []float64
	for i := range parts {
		medians = append(medians, median(series[i*size:(i+1)*size]))
		if i > 0 {
			steps = append(steps, (medians[i]-medians[i-1])/float64(size))
		}
	}
	return (medians[parts-1] - medians[0]) / float64((parts-1)*size), median(steps)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func TestTrend(t *testing.T) {
	series := func(value func(i int) float64) []float64 {
		s := make([]float64, 200)
		for i := range s {
			s[i] = value(i)
		}
		return s
	}
	for name, tt := range map[string]struct {
		series          []float64
		overall, steady float64
	}{
		"constant":         {series(func(int) float64 { return 7 }), 0, 0},
		"comes and goes":   {series(func(i int) float64 { return float64(i % 5) }), 0, 0},
		"leaps":            {series(func(i int) float64 { return math.Floor(float64(i)/70) * 900 }), 10, 0},
		"levels off":       {series(func(i int) float64 { return math.Min(float64(i), 100) }), 0, 0},
		"one a round":      {series(func(i int) float64 { return float64(i + i%3) }), 1, 1},
		"now and then":     {series(func(i int) float64 { return math.Floor(float64(i) / 5) }), 0.2, 0.2},
		"capacity doubles": {series(func(i int) float64 { return 90 * math.Floor(math.Log2(float64(i+1))) }), 1, 0},
	} {
		overall, steady := trend(tt.series)
		assert.InDelta(t, tt.overall, overall, 0.01, name)
		assert.InDelta(t, tt.steady, steady, 0.01, name)
	}
}

var (
	seriesMap  = map[int]*int{1: new(int)}
	seriesKept [][]byte
)

// seriesLeaks are the possible leaks of an assertion. Each leaks one unit of the figure that must
// show it.
var seriesLeaks = map[string]struct {
	leak   func() error
	figure string
}{
	"nothing": {func() error { return nil }, ""},
	"mapping": {func() error {
		page, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err == nil {
			page[0] = 1
		}
		return err
	}, "bytes of private mappings"},
	"slice":      {func() error { seriesKept = append(seriesKept, make([]byte, 8192)); return nil }, "bytes of the Go heap"},
	"descriptor": {func() error { _, err := syscall.Dup(0); return err }, "descriptors"},
	"goroutine":  {func() error { go func() { select {} }(); return nil }, "goroutines"},
}

// seriesVariable makes TestRounds run so many rounds, with one of seriesLeaks.
const seriesVariable = "LEAKGATE_TEST_SERIES"

// shortSeries is how many rounds show the trend of most figures.
const shortSeries = 60

// series makes rounds in a process of its own, since other tests in this process leave more or less
// behind. It returns the names of the figures that grew.
func series(t *testing.T, rounds int, leak string) (grown []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector takes memory of its own")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRounds$", "-test.v", "-test.timeout=3h")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", seriesVariable, rounds, leak))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	_, list, ok := strings.Cut(string(out), "grown: [")
	require.True(t, ok, "%s", out)
	list, _, _ = strings.Cut(list, "]")
	return strings.FieldsFunc(list, func(r rune) bool { return r == ';' })
}

// An assertion takes no memory, on the Go heap or off it, no descriptor, goroutine or thread that
// it does not give back.
func TestSeries(t *testing.T) {
	rounds := shortSeries
	if os.Getenv("LEAKGATE_LONG") != "" {
		rounds = 5000
	}
	require.Empty(t, series(t, rounds, "nothing"))
}

// If an assertion leaked, TestSeries would fail: each of seriesLeaks shows in its figure.
func TestSeriesOfLeaks(t *testing.T) {
	require.Slow(t)
	for name, leak := range seriesLeaks {
		if leak.figure != "" {
			t.Run(name, func(t *testing.T) { require.Contains(t, series(t, shortSeries, name), leak.figure) })
		}
	}
}

// AssertNoGrowth judges other assertions as an operation like any other. It sees goroutines,
// timers, and memory that is left with the program or the standard library. Memory of leakcheck's
// own is in no report: TestSeries covers it.
func TestAssertionDoesNotGrow(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		leakcheck.AssertRetained(t, leakcheck.Root("leakcheck_test.seriesMap").MaxObjects(2))
	})
}

// TestRounds is what series runs.
func TestRounds(t *testing.T) {
	count, leak, ok := strings.Cut(os.Getenv(seriesVariable), " ")
	if !ok {
		return
	}
	rounds, err := strconv.Atoi(count)
	require.NoError(t, err)
	// the profiler keeps what it has seen: each new stack takes some hundred bytes
	runtime.MemProfileRate = 0
	series := make([][]float64, len(figures))
	for k := range series {
		series[k] = make([]float64, 0, rounds) // made large enough, so that it does not grow
	}
	for i := range rounds {
		require.True(t, leakcheck.AssertRetained(t, leakcheck.Root("leakcheck_test.seriesMap").MaxObjects(2)))
		require.NoError(t, seriesLeaks[leak].leak())
		for k, value := range readFigures(t) {
			series[k] = append(series[k], value)
		}
		if i%500 == 0 {
			t.Logf("after %d rounds: %.0f", i+1, readFigures(t))
		}
	}
	var grown []string
	for k, f := range figures {
		by, steady := trend(series[k])
		if f.leaps {
			by = steady
		}
		t.Logf("%s: %.0f, %.0f, %.0f at the start, in the middle and at the end; %+.2f a round", f.name,
			series[k][0], series[k][rounds/2], series[k][rounds-1], by)
		if rounds >= f.from && by > f.unit/2 {
			grown = append(grown, f.name)
		}
	}
	t.Logf("grown: [%s]", strings.Join(grown, ";"))
	runtime.KeepAlive(seriesMap)
}
