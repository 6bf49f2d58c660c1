package assertion

import (
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// byReach makes a pass of an assertion if each of its bounds is on a package variable, and all that
// the variable leads to is within the bound: what a scan charges to the variable is a part of that.
// The names that bounds have must exist, as in full. There is no collection before, since what a
// variable leads to does not depend on the collector, but for what a sync.Pool gives up; what
// finalizers and goroutines that are about to run put there, a later assertion will see.
//
// With Scope and Ignore options are to be checked that need names of all roots, and of goroutines a
// scan knows. What is over the bound is judged in full, and so is what cannot be told.
func (a *Assertion) byReach(o *Outcome) (done bool, err error) {
	r := a.Req
	if a.Reach == nil || a.WantsFull() || a.Env.Measure || len(r.Bounds) == 0 || len(r.Goroutines)+len(r.Scope)+len(r.Ignores) > 0 {
		return false, nil
	}
	all := make([]*refscan.Reach, len(r.Bounds))
	for i, b := range r.Bounds {
		if all[i] = b.Reach(); all[i] == nil {
			return false, nil
		}
	}
	ctx, cancel := a.Time.Context()
	defer cancel()
	within, logs, err := a.Reach(ctx, all)
	a.Logs = append(a.Logs, logs...)
	if err != nil && ctx.Err() != nil {
		err = a.Time.Spent("the program's debug information could not be had so soon", err)
	}
	if err != nil || !within {
		return false, err
	}
	o.Verdict, o.Method = verdict.Pass, verdict.ByReach
	o.Notes = append(o.Notes, a.Logs...)
	for i, b := range r.Bounds {
		o.Bounds = append(o.Bounds, verdict.Bound{
			Selector: b.Selector.Shown, MaxObjects: b.MaxObjects, MaxBytes: b.MaxBytes,
			Objects: all[i].Objects, Bytes: all[i].Bytes, Verdict: verdict.Pass,
		})
	}
	return true, nil
}
