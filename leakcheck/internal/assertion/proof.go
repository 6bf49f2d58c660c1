package assertion

import (
	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/verdict"
)

// evidence has figures that cost less than a scan, and that are never less than those of a scan.
// If they are within all bounds, the assertion passes without a scan.
type evidence struct {
	claims proof.Claims
	counts []*proof.Count // the same, by bound
}

// evidence returns queries that can prove that the bounds hold, nil if only a scan can: Scope and
// Ignore name roots, which only a scan can check, and only a scan knows the goroutines.
func (a *Assertion) evidence() *evidence {
	r := a.Req
	if a.Prove == nil || a.WantsFull() || a.Env.Measure || len(r.Bounds) == 0 || len(r.Goroutines)+len(r.Resources)+len(r.Scope)+len(r.Ignores) > 0 {
		return nil
	}
	e := &evidence{}
	for _, b := range r.Bounds {
		if v := b.Reach(); v != nil {
			e.claims.Variables, e.counts = append(e.claims.Variables, v), append(e.counts, &v.Count)
		} else if t := b.TypeCount(); t != nil {
			e.claims.Types, e.counts = append(e.claims.Types, t), append(e.counts, &t.Count)
		} else {
			return nil
		}
	}
	return e
}

// prove returns a pass that needs no scan, with its figures; nil if only a scan can tell. It does
// not collect garbage first, unless there is too much of it: what a variable reaches does not
// depend on the collector, except for what a sync.Pool gives up. A later assertion sees the objects
// that finalizers, and goroutines that are about to run, store there.
func (a *Assertion) prove() *Outcome {
	e := a.evidence()
	if e == nil {
		return nil
	}
	ctx, cancel := a.Time.Context()
	defer cancel()
	within, logs, err := a.Prove(ctx, e.claims)
	a.Logs = append(a.Logs, logs...)
	if err != nil && ctx.Err() != nil {
		err = a.Time.Spent("the program's debug information could not be had so soon", err)
	}
	if err != nil {
		return a.Unknown(err)
	}
	if !within {
		return nil
	}
	o := &Outcome{Verdict: verdict.Pass, Method: verdict.ByReach, Notes: append(a.Logs, a.holders(nil)...)}
	if len(e.claims.Types) > 0 {
		o.Method = verdict.ByTypes
	}
	for i, b := range a.Req.Bounds {
		o.Bounds = append(o.Bounds, verdict.Bound{
			Kind: verdict.Retained, Selector: b.Selector.Record, MaxObjects: b.MaxObjects, MaxBytes: b.MaxBytes, Verdict: verdict.Pass,
			Objects: e.counts[i].Objects, Bytes: e.counts[i].Bytes,
		})
	}
	return o
}
