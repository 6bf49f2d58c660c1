package headroom

import (
	"math"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
)

// While memory is ample, it is not measured again for ampleFor: reading the files takes a
// millisecond, and a snapshot makes three checks. Memory is ample if every limit leaves ampleShare
// times what is needed, and ampleMargin bytes for other processes. Limits that the process may set
// for itself are read each time.
const (
	ampleFor    = 100 * time.Millisecond
	ampleShare  = 4
	ampleMargin = 256 << 20
)

// Recent is a System that remembers its last measurement. The zero value measures the system
// itself, at the first Check.
type Recent struct {
	System
	mu     sync.Mutex
	until  time.Duration // the last measurement is good until then, by realtime.Clock
	of     System
	own    rlimits
	limits []Limit
}

// Check is System.Check, but reuses the last measurement if that showed ample memory.
func (r *Recent) Check(n Need) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := ownLimits()
	if r.of == r.System && r.own == own && realtime.Clock() < r.until && ample(r.limits, n) {
		return nil
	}
	r.limits, r.until, r.of, r.own = r.Limits(), realtime.Clock()+ampleFor, r.System, own
	return shortage(r.limits, n)
}

// Measured returns the limits as they were measured last.
func (r *Recent) Measured() []Limit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limits
}

// HasOwn reports whether the process has a limit of its own on its address space or data.
func HasOwn() bool {
	for _, l := range ownLimits() {
		if l.Cur <= math.MaxInt64 {
			return true
		}
	}
	return false
}

// ample reports whether limits leave far more than is needed.
func ample(limits []Limit, n Need) bool {
	for _, l := range limits {
		if l.Room/ampleShare < l.amount(n)+ampleMargin/ampleShare {
			return false
		}
	}
	return true
}
