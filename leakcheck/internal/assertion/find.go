package assertion

import (
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// Find judges a request outside of a test. It leaves no record and no files, and writes no golden
// file. The bounds of a failure are those that do not hold.
func (c *Checker) Find(at environ.Site, req *request.Request) *Outcome {
	a := &Assertion{Checker: c, Env: c.Environment(), Req: req, At: at, Time: c.Budget(nil), readsOnly: true}
	switch {
	case req.Bounded():
	case req.Golden == "":
		req.Problem("Find has no test to name a golden file after: give it a bound, or Golden")
	default:
		var err error
		if a.file, err = golden.FileName(req.Golden); err != nil {
			req.Problem("%v", err)
		}
	}
	o := a.Judge()
	switch {
	case o.Verdict == verdict.Unknown:
		o.Message = UnknownMessage(o.Err, true, "what is retained")
	case o.Verdict == verdict.Fail && o.Message == "":
		o.Message = strings.Join(message.LimitLines(a.render(o, "")), "\n")
	}
	if o.Eval == nil || o.Verdict != verdict.Fail {
		return o
	}
	for i := range o.Eval.Findings {
		if f := &o.Eval.Findings[i]; f.Broken {
			o.Bounds = append(o.Bounds, a.BoundRecord(f, o.Verdict, o.Eval.Observation))
		}
	}
	return o
}
