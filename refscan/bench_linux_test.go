//go:build amd64 || arm64

package refscan_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// benchObjects is the approximate number of objects in the heaps of the benchmarks: a million, or
// the value of LEAKGATE_BENCH_OBJECTS.
func benchObjects(b *testing.B) int {
	if s := os.Getenv("LEAKGATE_BENCH_OBJECTS"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(b, err, "LEAKGATE_BENCH_OBJECTS")
		return n
	}
	return 1_000_000
}

// BenchmarkHeap captures and scans heaps of several shapes, each in a process of its own.
//
//	ns/op           Capture and Scan
//	ns/object       the same for each live object
//	x-GC            the same in collections (runtime.GC) of the same heap by this process,
//	                before and after it
//	capture-ms      Capture alone; with settling, so at least two collections
//	scan-ms         Scan alone
//	gc-ms           a collection
//	pause-ms        how long the world was stopped
//	cpu-ms          processor time of Scan
//	cores           processors that Scan kept busy on average
//	image-B/object  memory that was copied out of the frozen process: spans with pointers
//	extra-B/object  what the process's memory grew by meanwhile, on top of that
//
// All are medians over the operations, so -benchtime=5x or more makes sense; a peak of memory is
// the highest of all operations. LEAKGATE_BENCH_OBJECTS sets the number of objects, GOMAXPROCS the
// number of processors. -cpu does not: package testing sets it after the first run of a benchmark,
// and with b.Loop there is no other run.
func BenchmarkHeap(b *testing.B) { benchmarkShapes(b, "") }

// BenchmarkHeapRetained is BenchmarkHeap with retained sizes.
func BenchmarkHeapRetained(b *testing.B) { benchmarkShapes(b, "retained") }

// BenchmarkHeapHeld is BenchmarkHeap with what package variables hold, once the heap is typed.
func BenchmarkHeapHeld(b *testing.B) { benchmarkShapes(b, "held") }

// BenchmarkHeapPaths is BenchmarkHeap with two paths to one object, once the heap is typed.
func BenchmarkHeapPaths(b *testing.B) { benchmarkShapes(b, "paths") }

func benchmarkShapes(b *testing.B, query string) {
	objects := benchObjects(b)
	for _, shape := range heapShapes {
		b.Run(shape.name, func(b *testing.B) {
			child := startHeap(b, heapRequest{Shape: shape.name, Objects: objects, Query: query})
			var rounds []heapRound
			for b.Loop() {
				rounds = append(rounds, child.round(b))
			}
			reportRounds(b, rounds)
		})
	}
}

func reportRounds(b *testing.B, rounds []heapRound) {
	median := func(of func(heapRound) float64) float64 {
		values := make([]float64, len(rounds))
		for i, r := range rounds {
			values[i] = of(r)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	perObject := func(n int64, r heapRound) float64 { return float64(n) / float64(r.Objects) }
	b.ReportMetric(median(func(r heapRound) float64 { return float64(r.Capture + r.Scan) }), "ns/op")
	b.ReportMetric(median(func(r heapRound) float64 { return float64(r.Objects) }), "objects")
	b.ReportMetric(median(func(r heapRound) float64 { return perObject(int64(r.Capture+r.Scan), r) }), "ns/object")
	b.ReportMetric(median(func(r heapRound) float64 { return float64(r.Capture+r.Scan) / float64(r.GC) }), "x-GC")
	b.ReportMetric(median(func(r heapRound) float64 { return float64(r.Capture) / 1e6 }), "capture-ms")
	b.ReportMetric(median(func(r heapRound) float64 { return float64(r.Scan) / 1e6 }), "scan-ms")
	b.ReportMetric(median(func(r heapRound) float64 { return float64(r.GC) / 1e6 }), "gc-ms")
	b.ReportMetric(median(func(r heapRound) float64 { return float64(r.Pause) / 1e6 }), "pause-ms")
	b.ReportMetric(median(func(r heapRound) float64 { return float64(r.Scan) * r.Cores / 1e6 }), "cpu-ms")
	b.ReportMetric(median(func(r heapRound) float64 { return r.Cores }), "cores")
	b.ReportMetric(median(func(r heapRound) float64 { return perObject(r.Image, r) }), "image-B/object")
	if slices.ContainsFunc(rounds, func(r heapRound) bool { return r.Growth < 0 }) {
		return // the system does not let us know
	}
	extra := 0.0
	for _, r := range rounds {
		extra = max(extra, perObject(r.Growth-r.Image, r))
	}
	b.ReportMetric(extra, "extra-B/object")
}

// heapChild is a process with a heap of one shape, which it scans on request.
type heapChild struct {
	requests io.Writer
	answers  *bufio.Scanner
}

// startHeap starts a child that has filled its heap and scanned it once.
func startHeap(b *testing.B, request heapRequest) *heapChild {
	self, err := os.Executable()
	require.NoError(b, err)
	encoded, err := json.Marshal(request)
	require.NoError(b, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), heapVariable+"="+string(encoded), "GOMAXPROCS="+strconv.Itoa(runtime.GOMAXPROCS(0)))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(b, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		require.NoError(b, stdin.Close())
		require.NoError(b, cmd.Wait())
	})
	child := &heapChild{requests: stdin, answers: bufio.NewScanner(stdout)}
	child.round(b) // reads debug information, and makes room
	return child
}

func (c *heapChild) round(b *testing.B) (r heapRound) {
	_, err := fmt.Fprintln(c.requests)
	require.NoError(b, err)
	if !c.answers.Scan() {
		b.Fatalf("the process with the heap has ended: %v", c.answers.Err())
	}
	require.NoError(b, json.Unmarshal(c.answers.Bytes(), &r))
	return r
}
