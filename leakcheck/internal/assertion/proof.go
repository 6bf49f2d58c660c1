package assertion

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/verdict"
)

// evidence has figures that cost less than a scan, and that are never less than those of a scan. If
// they are within all bounds, the assertion passes without a scan.
type evidence struct {
	variables []*proof.Reach     // by bound; nil: the bound is on a type
	types     []*proof.TypeCount // by bound; nil: the bound is on a variable
}

// proof returns queries that can prove that the bounds hold, nil if only a scan can: Scope and
// Ignore name roots, which only a scan can check, and only a scan knows the goroutines.
func (a *Assertion) proof() *evidence {
	r := a.Req
	if a.Reach == nil || a.WantsFull() || a.Env.Measure || len(r.Bounds) == 0 || len(r.Goroutines)+len(r.Resources)+len(r.Scope)+len(r.Ignores) > 0 {
		return nil
	}
	p := &evidence{make([]*proof.Reach, len(r.Bounds)), make([]*proof.TypeCount, len(r.Bounds))}
	for i, b := range r.Bounds {
		p.variables[i], p.types[i] = b.Reach(), b.TypeCount()
		if p.variables[i] == nil && p.types[i] == nil {
			return nil
		}
	}
	return p
}

// nonNil returns the elements that are not nil.
func nonNil[T any](all []*T) (some []*T) {
	for _, x := range all {
		if x != nil {
			some = append(some, x)
		}
	}
	return some
}

// byReach reports whether all that the bounded variables reach is within their bounds: the objects
// that a scan charges to a variable are a part of that. It does not collect garbage first, since
// what a variable reaches does not depend on the collector, except for what a sync.Pool gives up. A
// later assertion sees the objects that finalizers, and goroutines that are about to run, store
// there.
func (a *Assertion) byReach(p *evidence) (within bool, err error) {
	all := nonNil(p.variables)
	if len(all) == 0 {
		return true, nil
	}
	ctx, cancel := a.Time.Context()
	defer cancel()
	within, logs, err := a.Reach(ctx, all)
	a.Logs = append(a.Logs, logs...)
	if err != nil && ctx.Err() != nil {
		err = a.Time.Spent("the program's debug information could not be had so soon", err)
	}
	return within, err
}

// proved makes o a pass and records the figures of p, which proved it without a scan.
func (a *Assertion) proved(o *Outcome, p *evidence, by verdict.Method, first string) *Outcome {
	o.Verdict, o.Method = verdict.Pass, by
	o.Notes = append(o.Notes, a.Logs...)
	o.note(first)
	o.Bounds = make([]verdict.Bound, len(a.Req.Bounds))
	for i, b := range a.Req.Bounds {
		record := &o.Bounds[i]
		record.Selector, record.MaxObjects, record.MaxBytes, record.Verdict = b.Selector.Record, b.MaxObjects, b.MaxBytes, verdict.Pass
		if v := p.variables[i]; v != nil {
			record.Objects, record.Bytes = v.Objects, v.Bytes
		} else {
			record.Objects, record.Bytes = p.types[i].Objects, max(p.types[i].Bytes, 0)
		}
	}
	return o
}

// note logs that an assertion held, but not in its first snapshot. first is what broke there, "" if
// nothing did.
func (o *Outcome) note(first string) {
	if first != "" {
		o.Notes = append(o.Notes, fmt.Sprintf("holds in snapshot %d; not so at first: %s", o.Snapshots, first))
	}
}
