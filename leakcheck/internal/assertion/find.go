package assertion

import (
	"strings"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Found is the outcome of an assertion without a test.
type Found struct {
	Verdict verdict.Verdict
	Misuse  bool
	Message string          // "" for a pass
	Bounds  []verdict.Bound // the bounds that do not hold
	Err     error           // why the verdict is unknown
}

// Find judges a request outside of a test. It leaves no record and no files, and writes no golden
// file.
func (c *Checker) Find(at environ.Site, req *request.Request) *Found {
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
	found := &Found{Verdict: o.Verdict, Misuse: o.Misuse, Message: o.Message, Err: o.Err}
	switch {
	case o.Verdict == verdict.Unknown:
		found.Message = UnknownMessage(o.Err, true, "what is retained")
	case o.Verdict == verdict.Fail && o.Message == "":
		found.Message = strings.Join(message.LimitLines(a.render(o, "")), "\n")
	}
	if o.Eval == nil || o.Verdict != verdict.Fail {
		return found
	}
	for i := range o.Eval.Findings {
		if f := &o.Eval.Findings[i]; f.Broken {
			found.Bounds = append(found.Bounds, a.BoundRecord(f, o.Verdict, o.Eval.Observation))
		}
	}
	return found
}
