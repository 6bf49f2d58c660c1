package growth

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/proof"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// What is appended to a slice that has room for it is nothing new in the process: elements without
// pointers, or with pointers to what was there. So it is watched which slices each call makes longer.
// After the calls of a proof, whether or not something else has grown, the first batch of the
// experiment has as many calls as fill these slices, if that takes little: a leak goes on to grow
// then, in memory, and what the program empties when it is full does not. Of what seems to be a slice
// without types a scan says whether it is one. Where so many calls take too long, or batches are not
// as large for other reasons, the log names what was not judged.

const (
	// A first batch that fills slices takes so long at most, and these have arrays of so many bytes. By
	// the last batch a leak has taken so many times as much.
	fillTime  = 250 * time.Millisecond
	fillBytes = 1 << 20
	fillAgain = 64
)

// watchSlices remembers how long slices are.
func (x *Experiment) watchSlices() {
	if x.Watchers.Slices == nil || x.late {
		return
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	var log observe.Logger
	x.slices, _ = x.Watchers.Slices(ctx, log.Log) // a snapshot has the same trouble
	x.Logs = append(x.Logs, log.Lines()...)
	x.sliced = x.calls
}

// longerSlices returns the slices that each call since watchSlices seems to have made longer.
func (x *Experiment) longerSlices() ([]proof.Longer, error) {
	if x.slices == nil || x.calls == x.sliced {
		return nil, nil
	}
	return x.slices.Longer(int(x.calls - x.sliced))
}

// fill returns how many calls in the first batch fill the slices that calls make longer; 0 where there
// are none, or that would take too much.
func (x *Experiment) fill() (calls int) {
	bytes := 0
	found, _ := x.longerSlices() // unjudgedSlices reads again, and says why that fails
	for _, s := range found {
		calls, bytes = max(calls, s.Cap/s.PerCall), max(bytes, s.Bytes)
	}
	// The slowest call may have been held up, or have moved an array. In a bubble of testing/synctest
	// no time passes.
	took := x.spent - x.slowestCall
	if took <= 0 || bytes > fillBytes {
		return 0
	}
	took = time.Duration(float64(took) * float64(calls) / float64(x.calls))
	if took > fillTime || !x.Time.Allows(fillAgain*took) {
		return 0
	}
	return calls
}

// unjudgedSlices are notes of slices that each call has made longer, though nothing is a leak.
func (x *Experiment) unjudgedSlices() (notes []string) {
	found, err := x.longerSlices()
	if err != nil {
		return []string{wording.UntoldSlices(err)}
	}
	if len(found) == 0 {
		return nil
	}
	if !x.Time.Allows(2 * x.slowestLook) {
		return []string{wording.UntoldSlices(context.DeadlineExceeded)}
	}
	addresses := make([]uintptr, len(found))
	for i, s := range found {
		addresses[i] = s.Array
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	paths, err := observe.PathsTo(ctx, addresses, tree.IsTestingRecord)
	if err != nil {
		return []string{wording.UntoldSlices(err)}
	}
	for i, p := range paths {
		if p == nil {
			continue
		}
		line := tree.TraceOfPath(*p).Branches
		if s, at := found[i], line[len(line)-1]; x.judgesSlice(at) {
			note := wording.UnjudgedSlice(at.Path, s.PerCall, s.Len, s.Cap)
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// judgesSlice reports whether what is at a branch may be a slice, and is none that is left out of the
// judgement.
func (x *Experiment) judgesSlice(at *tree.Branch) bool {
	s := tree.Scope{Packages: x.Req.Scope}
	switch {
	case strings.HasPrefix(at.Typ, "*") || strings.HasPrefix(at.Typ, "map[") || tree.GrowsOnPurpose(at.Path):
		return false
	case len(s.Packages) > 0 && !s.IncludesPackage(symbol.Package(at.Path)):
		return false
	}
	return !slices.ContainsFunc(x.Req.Ignores, func(i tree.Ignoring) bool { return i.Pattern.MatchPrefix(at.Path) })
}
