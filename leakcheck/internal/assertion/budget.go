package assertion

import (
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// Budget returns how long an assertion of a test may take. Without a test, which is nil then, the
// timeout of the test binary tells. The budget has no end in a bubble of testing/synctest: the T
// there panics when it is asked, and timers go by the bubble's clock.
func (c *Checker) Budget(t environ.TestingT) environ.Budget {
	b := environ.Budget{Now: c.Now}
	if realtime.InBubble() {
		return b
	}
	deadline, ok := time.Time{}, false
	if d, knows := t.(environ.Deadliner); knows {
		deadline, ok = d.Deadline()
	} else if t == nil {
		deadline, ok = environ.BinaryDeadline()
	}
	if ok {
		reserve := time.Duration(environ.BudgetReserve * float64(deadline.Sub(c.Now())))
		b.Deadline, b.End = deadline, deadline.Add(-min(max(reserve, environ.MinReserve), environ.MaxReserve))
	}
	return b
}
