package judge

import (
	"runtime"
	"testing"
	"time"
)

// A Measure is a figure of the runtime or of the program, which does not depend on leakcheck.
type Measure struct {
	name  string
	read  func() int64
	rate  float64 // by how much each call of a leak raises it at least
	calls int     // that are made between two readings
}

var (
	// Objects is the number of objects on the heap.
	Objects = Measure{"objects", heapObjects, 1, 400}

	// Goroutines is the number of goroutines of the whole process.
	Goroutines = Measure{"goroutines", func() int64 { return int64(runtime.NumGoroutine()) }, 1, 4}
)

// Bytes is the number of bytes on the heap. Each call of a leak leaves perCall bytes.
func Bytes(perCall int) Measure { return Measure{"bytes", heapBytes, float64(perCall), 400} }

// Entries is a number that the program counts: how many keys a map has, or what a registry lists.
func Entries(count func() int) Measure {
	return Measure{"entries", func() int64 { return int64(count()) }, 1, 20}
}

// PerCall returns the measure for a leak that leaves more or less than one unit with each call.
func (m Measure) PerCall(rate float64) Measure {
	m.rate = rate
	return m
}

// After returns the measure with so many calls between two readings: fewer if a call takes long.
func (m Measure) After(calls int) Measure {
	m.calls = calls
	return m
}

func heapObjects() int64 { return int64(collect().HeapObjects) }

func heapBytes() int64 { return int64(collect().HeapAlloc) }

// collect reads the runtime's statistics after two collections: sync.Pool, finalizers and cleanups
// release objects only in the second one.
func collect() (stats runtime.MemStats) {
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats
}

const (
	tries      = 8
	settleStep = 10 * time.Millisecond
)

// verify checks by the case's own measure that the operation leaks, or that it does not.
func (m Measure) verify(t *testing.T, op func(), leaks bool) {
	t.Helper()
	call := func() {
		for range m.calls {
			op()
		}
	}
	call() // fills caches
	due := m.rate * float64(m.calls)
	holds := func(grown int64) bool {
		if leaks {
			return float64(grown) >= 0.8*due
		}
		return float64(grown) <= 0.2*due
	}
	// What earlier cases have left may still be freed, and what the calls have started may still
	// end. So the measurement is repeated if it does not show what is expected.
	var grown int64
	for try := range tries {
		time.Sleep(time.Duration(try*try) * settleStep)
		before := m.read()
		call()
		if grown = m.read() - before; holds(grown) {
			return
		}
		time.Sleep(time.Duration(try) * settleStep)
		if grown = m.read() - before; holds(grown) {
			return
		}
	}
	verdict := map[bool]string{true: "it leaks", false: "it does not leak"}[leaks]
	t.Errorf("the case says that %s, but %d calls add %d %s; a leak would add %g at least", verdict, m.calls, grown, m.name, due)
}
