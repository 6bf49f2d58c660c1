package alloc

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// costly has operations of several kinds.
var costly = map[string]func(){
	"small objects": func() {
		for range 100 {
			keptNode = &node{left: new(node)}
		}
	},
	"slices": func() {
		for i := range 100 {
			keptEntries = make([]entry, 1+i%20)
		}
	},
	"maps": func() {
		m := make(map[string]*entry)
		for i := range 50 {
			m[fmt.Sprint(i)] = new(entry)
		}
		keptMap = m
	},
	"json":  func() { _ = json.Unmarshal([]byte(`{"a":[1,2,3,{"b":"cc"}],"d":{"e":"f","g":[true,null]}}`), &keptAny) },
	"texts": func() { keptText = strings.Join(strings.Fields(strings.Repeat("one two three ", 20)), ",") },
}

// BenchmarkVerdict compares the processor time of a recording with that of its calls alone, for
// 200,000 allocations. calls-x-CPU is the factor for the calls while they are traced, x-CPU the
// factor for everything from the trace's start to figures by type, and read-ns/alloc the time to
// read the trace. fixed-ms is the time of a recording of a call that does nothing, and is in none
// of the others.
func BenchmarkVerdict(b *testing.B) {
	for name, op := range costly {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			var alone, traced, read, fixed time.Duration
			const allocations = 200_000
			for b.Loop() {
				before := mallocs()
				op()
				calls := int(allocations / max(1, mallocs()-before))
				runtime.GC()
				alone += processorTime(func() { callBetweenMarks(opOf(op), calls) })
				one, two := recordingTimes(b, op, calls)
				nothing, _ := recordingTimes(b, func() {}, 1)
				traced, read, fixed = traced+one-nothing, read+two, fixed+nothing
			}
			b.ReportMetric(float64(traced)/float64(alone), "calls-x-CPU")
			b.ReportMetric(float64(traced+read)/float64(alone), "x-CPU")
			b.ReportMetric(float64(read.Nanoseconds())/float64(b.N*allocations), "read-ns/alloc")
			b.ReportMetric(fixed.Seconds()*1000/float64(b.N), "fixed-ms")
		})
	}
}

// withoutCollections calls f with collections withheld, as record calls its operation.
func withoutCollections(f func()) {
	defer withholdCollections(demand{})()
	f()
}

// recordingTimes are the processor times of tracing calls and of reading the trace.
func recordingTimes(b *testing.B, op func(), calls int) (traced, read time.Duration) {
	b.Helper()
	var m *meter
	runtime.GC()
	traced = processorTime(func() {
		withoutCollections(func() {
			var err error
			m, err = startMeter(demand{})
			require.NoError(b, err)
			callBetweenMarks(opOf(op), calls)
			m.stop()
		})
	})
	read = processorTime(func() {
		_, err := m.end(calls)
		require.NoError(b, err)
	})
	return traced, read
}

// processorTime is the processor time of all threads of the process while f runs.
func processorTime(f func()) time.Duration {
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}
