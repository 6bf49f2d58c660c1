package assertion

import (
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// TakeBaseline takes a baseline of this process, or of another one.
func (c *Checker) TakeBaseline(t environ.TestingT, p request.Process) *request.Baseline {
	t.Helper()
	of := ""
	if p != nil {
		of = p.String()
	}
	ctx, cancel := c.Budget(t).Context()
	defer cancel()
	obs, err := c.Observe(ctx, observe.Needs{Heap: true, Stacks: true, Keep: true, Profile: c.Environment().KeepsFiles()})
	if err == nil {
		err = observe.Audit(obs.Report)
	}
	if err != nil {
		t.Logf("leakcheck: no baseline: %v", err)
		return &request.Baseline{Of: of, Unknown: err}
	}
	b := &request.Baseline{Of: of, Snapshot: obs.Kept, Forest: tree.GrowForest(obs.Report), Artifacts: obs.Artifacts(), Live: obs.Report.Totals.LiveBytes}
	if c.Resources != nil {
		b.Resources, _ = c.Resources("") // without, bounds on resources are unknown
	}
	if c.Native.Take != nil {
		b.Native, b.NativeErr = c.Native.Count()
	}
	if obs.Stacks != nil {
		b.Goroutines = goroutine.TakeCensus(obs.Stacks.Goroutines)
	}
	return b
}

// recall makes the baseline's figures ones that can be compared with those of this assertion's
// snapshots: in the same order of roots, and with what the bounded nodes held then.
func (a *Assertion) recall(n observe.Needs) error {
	b := a.Req.Baseline
	if b == nil || b.Snapshot == nil || !n.Heap {
		return nil
	}
	r, err := observe.Recall(b.Snapshot, n)
	if err != nil {
		return err
	}
	own := *b
	own.Forest = tree.GrowForest(r)
	a.Req.Baseline = &own
	return nil
}
