package headroom

import (
	"sync"
	"time"
)

// Ample memory is not measured anew for a while: reading the files takes a millisecond, and three
// checks belong to a snapshot. It is ample if what is needed leaves several times as much, and a
// margin for what others may take meanwhile. Limits that the process may set itself are asked for
// each time.
const (
	ampleFor    = 100 * time.Millisecond
	ampleShare  = 4
	ampleMargin = 256 << 20
)

// Recent is what was measured last. The zero value is of the system itself, and nothing was.
type Recent struct {
	System
	mu       sync.Mutex
	measured time.Time
	of       System
	own      limitsOfOwn
	limits   []Limit
}

// Check is System.Check, but goes by what was measured before where that was ample.
func (r *Recent) Check(n Need) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := ownLimits()
	if r.of == r.System && r.own == own && !r.measured.IsZero() && time.Since(r.measured) < ampleFor && ample(r.limits, n) {
		return nil
	}
	r.limits, r.measured, r.of, r.own = r.Limits(), time.Now(), r.System, own
	return shortage(r.limits, n)
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
