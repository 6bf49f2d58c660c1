package assertion

import (
	"context"
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// addNative adds the blocks of C's malloc to a ledger, if a bound is on them. It returns an error
// if they cannot be counted, or were not counted for the baseline.
func (a *Assertion) addNative(l *ledger.Ledger) error {
	if !slices.ContainsFunc(a.Req.Resources, func(o request.ResourceOption) bool { return o.Kind.OfMalloc() }) {
		return nil
	}
	h, err := a.Native.Count()
	if err != nil {
		return err
	}
	l.AddNative(h)
	b := a.Req.Baseline
	switch {
	case b == nil:
	case b.Native == nil && b.NativeErr != nil:
		return b.NativeErr
	case b.Native == nil:
		return &refscan.UnavailableError{Cause: "native memory was not counted when the baseline was taken"}
	}
	return nil
}

// scanNative takes a snapshot for the artifacts alone. It returns nil if the snapshot fails.
func (a *Assertion) scanNative() *observe.Observation {
	ctx, cancel := a.Time.Context()
	defer cancel()
	obs, err := a.Observe(ctx, observe.Needs{Heap: true, AsIs: true, Native: true})
	if err != nil {
		return nil
	}
	return obs
}

// addNativeDetails adds to broken findings about native memory who holds it. To broken findings
// about retained memory it adds how much native memory cutting would free, which does not count for
// their bounds. It takes a snapshot for each finding.
func (a *Assertion) addNativeDetails(e *check.Evaluation) {
	for i := range e.Findings {
		f := &e.Findings[i]
		ctx, cancel := a.Time.Context()
		switch {
		case !f.Broken:
		case f.Blocks != nil && a.Native.Holders != nil:
			a.addNativeHolders(ctx, f)
		case f.Freed && f.Line == nil && !f.Native && len(f.Culprits) > 0 && a.Native.Freed != nil:
			a.addNativeFreed(ctx, f)
		}
		cancel()
	}
}

func (a *Assertion) addNativeHolders(ctx context.Context, f *check.Finding) {
	r, err := a.Native.Holders(ctx, f.Blocks)
	if err != nil {
		f.Detail = append(f.Detail, "could not tell who holds them: "+err.Error())
		return
	}
	by := native.HeldBy(r, message.MaxNameShown, func(s native.Sum) string {
		return textfmt.CountNoun(s.Blocks, "native block") + " (" + textfmt.ByteCount(s.Bytes) + ")"
	})
	if a.Req.Baseline != nil && len(by) > 0 {
		by = append([]string{"of all " + textfmt.CountNoun(r.All.Blocks, "native block") + " of these sizes:"}, by...)
	}
	f.Detail = append(by, f.Detail...)
}

func (a *Assertion) addNativeFreed(ctx context.Context, f *check.Finding) {
	culprits := f.Culprits
	if f.Below {
		culprits = culprits[:1] // the bound is on each culprit by itself
	}
	sum, err := a.Native.Freed(ctx, tree.NodeKeys(culprits), !f.Below)
	switch {
	case err != nil && !native.IsNone(err):
		f.Amount += "; native blocks that would go with it are not known: " + err.Error()
	case sum.Blocks > 0:
		f.Amount += fmt.Sprintf("; %s, %s, would go with it", textfmt.CountNoun(sum.Blocks, "native block"), textfmt.ByteCount(sum.Bytes))
	}
}
