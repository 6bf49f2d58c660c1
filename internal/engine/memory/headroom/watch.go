package headroom

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

// A Watch notices, while this process takes memory, that next to nothing is left. To read all
// limits takes 36 KB of garbage, which would itself be what memory is short for: between two
// measurements the Watch goes by how much the process has grown. The zero value is ready for use.
// It is safe for concurrent use.
type Watch struct {
	System
	next atomic.Int64 // when to look again, by realtime.Clock

	mu       sync.Mutex
	measured time.Duration
	room     int64 // that was left when it was measured
	resident int64 // that the process had then
}

const (
	watchEvery = 3 * time.Millisecond
	// What the process may take in that time: at a gigabyte a second, all that a processor can.
	watchMargin = 3 << 20
	measureEach = 50 * time.Millisecond
	// By how much the runtime lets the heap grow at once: if the system refuses that, it ends the
	// process (go1.26 runtime/mheap.go, grow). Room is left for two of them: the collection that
	// gives memory back takes some itself.
	heapGrowth = 4 << 20
)

// Look returns the *Shortage of a limit that leaves next to nothing, nil if there is none. It may
// be called very often.
func (w *Watch) Look() error { return w.LookBeside(0) }

// LookBeside is Look, where some bytes are to be left beside.
func (w *Watch) LookBeside(beside int64) error {
	now, due := int64(realtime.Clock()), w.next.Load()
	if now < due || !w.next.CompareAndSwap(due, now+int64(watchEvery)) {
		return nil
	}
	if !w.mu.TryLock() {
		return nil
	}
	defer w.mu.Unlock()
	grown := residentBytes() - w.resident
	since := time.Duration(now) - w.measured
	if w.resident > 0 && since < ampleFor && w.room-grown > beside+watchMargin+ampleMargin {
		w.next.Store(now + int64(ampleFor))
		return nil
	}
	if w.resident > 0 && since < measureEach && w.room-grown > beside+watchMargin {
		return nil
	}
	return w.measure(time.Duration(now), beside)
}

// Now is LookBeside, but measures the limits.
func (w *Watch) Now(beside int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.measure(realtime.Clock(), beside)
}

func (w *Watch) measure(now time.Duration, beside int64) error {
	n := watchMargin + beside
	limits, margin := w.Limits(), Need{Resident: n, Private: n + 2*heapGrowth, Address: n + 2*heapGrowth}
	w.measured, w.resident, w.room = now, residentBytes(), math.MaxInt64
	for i := range limits {
		w.room = min(w.room, limits[i].Room)
	}
	return shortage(limits, margin)
}
