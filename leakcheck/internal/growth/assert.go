package growth

import (
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

func AssertNoGrowth(c *assertion.Checker, t environ.TestingT, at environ.Site, op func(), req *request.Request, source Source) bool {
	t.Helper()
	a := c.Begin(t, at, req)
	var o *assertion.Outcome
	if len(a.Req.Problems) > 0 {
		o = assertion.Misuse("%s", strings.Join(a.Req.Problems, "\n    "))
	} else {
		held := tree.HoldOp(op)
		x := NewExperiment(a, op, source)
		defer x.logUnfinished()
		o = x.Judge()
		held.Release()
		if o == nil {
			return false
		}
	}
	a.Keep(o)
	return o.Report(t)
}
