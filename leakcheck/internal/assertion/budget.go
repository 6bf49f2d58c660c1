package assertion

import (
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

func (c *Checker) Budget(t environ.TestingT) environ.Budget {
	b := environ.Budget{Now: c.Now}
	if d, ok := t.(environ.Deadliner); ok {
		if deadline, ok := d.Deadline(); ok {
			reserve := time.Duration(environ.BudgetReserve * float64(deadline.Sub(c.Now())))
			b.Deadline, b.End = deadline, deadline.Add(-min(max(reserve, environ.MinReserve), environ.MaxReserve))
		}
	}
	return b
}
