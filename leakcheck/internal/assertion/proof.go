package assertion

import (
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/internal/verdict"
)

// Evidence is what an assertion asks for before it looks at everything: something that takes less,
// and that is never less than what a scan would find. It passes if that is within all bounds.
type evidence struct {
	variables []*proof.Reach     // by bound; nil: it is on a type
	types     []*proof.TypeCount // by bound; nil: it is on a variable
}

// proof returns what proves that the bounds hold, nil if only a scan can: with Scope and Ignore
// there are names of all roots to be checked, and of goroutines a scan knows.
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

// given returns those that are asked for.
func given[T any](all []*T) (some []*T) {
	for _, x := range all {
		if x != nil {
			some = append(some, x)
		}
	}
	return some
}

// byReach reports whether all that the variables lead to is within their bounds: what a scan
// charges to a variable is a part of that. There is no collection before, since what a variable
// leads to does not depend on the collector, but for what a sync.Pool gives up; what finalizers,
// and goroutines that are about to run, put there, a later assertion will see.
func (a *Assertion) byReach(p *evidence) (within bool, err error) {
	all := given(p.variables)
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

// proved makes a pass of an outcome, with what was found instead of a scan.
func (a *Assertion) proved(o *Outcome, p *evidence, by verdict.Method, first string) *Outcome {
	o.Verdict, o.Method = verdict.Pass, by
	o.Notes = append(o.Notes, a.Logs...)
	o.note(first)
	o.Bounds = make([]verdict.Bound, len(a.Req.Bounds))
	for i, b := range a.Req.Bounds {
		record := &o.Bounds[i]
		record.Selector, record.MaxObjects, record.MaxBytes, record.Verdict = b.Selector.Shown, b.MaxObjects, b.MaxBytes, verdict.Pass
		if v := p.variables[i]; v != nil {
			record.Objects, record.Bytes = v.Objects, v.Bytes
		} else {
			record.Objects, record.Bytes = p.types[i].Objects, max(p.types[i].Bytes, 0)
		}
	}
	return o
}

// note says that an assertion did not hold at first, if it did not.
func (o *Outcome) note(first string) {
	if first != "" {
		o.Notes = append(o.Notes, fmt.Sprintf("holds in snapshot %d; not so at first: %s", o.Snapshots, first))
	}
}
