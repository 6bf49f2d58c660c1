package assertion

import (
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// Budget returns how long an assertion of a test may take. It has no end in a bubble of
// testing/synctest: the T there panics when it is asked, and timers go by the bubble's clock.
func (c *Checker) Budget(t environ.TestingT) environ.Budget {
	b := environ.Budget{Now: c.Now}
	if d, ok := t.(environ.Deadliner); ok && !realtime.InBubble() {
		if deadline, ok := d.Deadline(); ok {
			reserve := time.Duration(environ.BudgetReserve * float64(deadline.Sub(c.Now())))
			b.Deadline, b.End = deadline, deadline.Add(-min(max(reserve, environ.MinReserve), environ.MaxReserve))
		}
	}
	return b
}
