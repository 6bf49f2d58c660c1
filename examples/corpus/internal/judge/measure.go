package judge

import (
	"runtime"
	"testing"
	"time"
)

// A Measure is a figure that is not leakcheck's.
type Measure struct {
	name  string
	read  func() int64
	rate  float64 // by how much each call of a leak raises it at least
	calls int     // that are made between two readings
}

var (
	// Objects are those on the heap.
	Objects = Measure{"objects", heapObjects, 1, 400}

	// Goroutines are those of the whole process.
	Goroutines = Measure{"goroutines", func() int64 { return int64(runtime.NumGoroutine()) }, 1, 4}
)

// Bytes are those on the heap, of which a call leaves so many.
func Bytes(perCall int) Measure { return Measure{"bytes", heapBytes, float64(perCall), 400} }

// Entries are counted by the program: how many keys a map has, or what a registry lists.
func Entries(count func() int) Measure {
	return Measure{"entries", func() int64 { return int64(count()) }, 1, 20}
}

// PerCall is the measure for a leak that leaves more or less than one at each call.
func (m Measure) PerCall(rate float64) Measure {
	m.rate = rate
	return m
}

// After is the measure read after so many calls: fewer where a call takes long.
func (m Measure) After(calls int) Measure {
	m.calls = calls
	return m
}

func heapObjects() int64 { return int64(collect().HeapObjects) }

func heapBytes() int64 { return int64(collect().HeapAlloc) }

// collect reads the runtime's statistics after two collections: sync.Pool, finalizers and cleanups
// let go in the second one only.
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
	// What cases before this one have left may still be freed, and what the calls have started may
	// still end, so what does not hold is measured again.
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
