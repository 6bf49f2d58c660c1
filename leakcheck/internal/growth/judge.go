package growth

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// maxRestarts bounds how often an experiment begins anew: after a fall, or with batches that fill
// slices.
const maxRestarts = 2

// Judge finds out whether anything grows with the number of calls, and returns nil if op failed the
// test.
func (x *Experiment) Judge() *assertion.Outcome {
	o := x.judge()
	if o == nil {
		return nil
	}
	pass := o.Verdict == verdict.Pass
	o.Notes = append(o.Notes, x.timerNotes(pass)...)
	if pass {
		if err := x.limits.met(x.op.calls); err != nil {
			return x.inconclusive(err)
		}
		o.Notes = append(o.Notes, x.unjudgedSlices()...)
		if x.mapped.hasChunk() {
			o.Notes = append(o.Notes, wording.UnjudgedMapping)
		}
	}
	return o
}

// judge proves that nothing grows, or else runs batches until nothing grows with each of them, or
// enough of them have run.
func (x *Experiment) judge() *assertion.Outcome {
	x.noteTimers()
	x.began = time.Now()
	end := x.mapped.measure()
	batch := x.warmUp()
	end()
	if x.op.failed {
		return nil
	}
	batch = x.belowLimits(0, batch)
	if !x.op.late && x.provable(batch) {
		calls := max(batch, minProofCalls)
		p := x.prove(calls)
		switch {
		case x.op.failed:
			return nil
		case p.nothingNew && !p.longer:
			return x.proved(p)
		case !p.nothingNew:
			batch = fewer(max(batch, min(int(x.op.calls), 2*calls)), p.perCall)
		}
	}
	if x.op.late {
		return x.outOfTime()
	}
	if err := x.snapshot(observe.Needs{}); err != nil {
		return x.inconclusive(err)
	}
	batch = x.affordable(batch)
	x.longer = max(0, int(x.op.calls)-batch)
	return x.run(batch)
}

// run runs batches, with a snapshot after each. The first has so many calls.
func (x *Experiment) run(batch int) *assertion.Outcome {
	for restarts := 0; ; {
		if stop, err := x.nextBatch(batch); err != nil {
			return x.inconclusive(err)
		} else if stop {
			return x.stopped()
		}
		o, grows := x.conclude()
		if grows && len(x.past.Snapshots) > series.Intervals+1 {
			var shared bool
			if o, shared = x.settle(); shared {
				x.timers.shared = true
				x.past.BeginAt(len(x.past.Snapshots) - 1)
				x.finder.Holders = nil // their batch may not count
				continue
			}
			if o == nil || o.Verdict != verdict.Pass {
				return o
			}
			if x.past.Later != nil { // a window that goes on would look like growth again
				return x.withFall(o)
			}
			grows = false
		}
		if !grows && o.Verdict == verdict.Pass {
			o, grows, restarts = x.withoutFalls(o, restarts)
		}
		switch {
		case grows:
			continue
		case o.Verdict != verdict.Pass:
			return o
		case restarts < maxRestarts:
			if n := x.beginsFull(batch); n > 0 {
				batch = max(batch, n)
				restarts++
				continue
			}
			if _, others := x.slicesInUse(); others && x.hasTimeFor(x.nextSize(batch)) {
				continue
			}
		}
		return x.withFall(o)
	}
}

// withFall adds to a pass that a figure fell, if one did.
func (x *Experiment) withFall(o *assertion.Outcome) *assertion.Outcome {
	if f := x.past.LastFall(); f != nil {
		o.Notes = append(o.Notes, f.Note())
	}
	return o
}

// withoutFalls judges anew without the snapshots before a fall, which may have hidden growth, as
// long as the outcome o is a pass. It returns how often the experiment has begun anew by then.
func (x *Experiment) withoutFalls(o *assertion.Outcome, restarts int) (_ *assertion.Outcome, grows bool, _ int) {
	for !grows && o.Verdict == verdict.Pass && restarts < maxRestarts {
		if !x.past.ForgetFall() {
			break
		}
		restarts++
		x.finder.Holders = nil                          // their batch may not count
		if grows = len(x.past.Snapshots) == 1; !grows { // one snapshot alone shows no growth
			o, grows = x.conclude()
		}
	}
	return o, grows, restarts
}

// nextBatch runs the next of the batches that double, with a snapshot after it. It reports whether
// the experiment cannot go on: op has failed the test, or there is no time, or a limit is met.
func (x *Experiment) nextBatch(batch int) (stop bool, err error) {
	i := len(x.past.Snapshots) - 1
	n := x.belowLimits(i, x.nextSize(batch))
	if n == 0 {
		return true, nil
	}
	var allocated allocations
	if i == series.Intervals {
		x.Sleep(assertion.RetryWaits[0])
		x.noteBlocks()
		allocated = x.recordBatch(x.confirmSize(n))
	} else {
		x.runBatch(n)
	}
	if x.op.ended() {
		return true, nil
	}
	if err = x.snapshot(observe.Needs{}); err == nil && allocated != nil {
		x.findMakers(allocated)
	}
	return false, err
}

// stopped is the outcome where nextBatch has stopped; nil if op failed the test.
func (x *Experiment) stopped() *assertion.Outcome {
	if x.op.failed {
		return nil
	}
	if x.op.late {
		return x.outOfTime()
	}
	return x.cutShort(x.limits.noRoom(x.op.calls))
}

// settle waits, so that growth that is about to end can end, replaces the last snapshot by a new
// one, and returns the outcome; nil if op failed the test. It reports whether timers turn out to
// work for many calls: they have fired, and part of the growth is not where it was. Then the
// outcome is of no use.
func (x *Experiment) settle() (o *assertion.Outcome, shared bool) {
	x.Sleep(assertion.RetryWaits[1])
	waited, old := x.awaitShared(), x.past.Last()
	if x.op.late {
		return x.outOfTime(), false
	}
	grown := x.finder.Growth()
	x.words.Content = wording.ContentOf(grown, x.began)
	open := x.finder.WithDescriptors()
	for _, b := range open {
		x.words.Content.AddHandles(b.ReportPath(), b.Root.CreatedAt, tree.Descriptors(b.Typ))
	}
	x.past.Snapshots = x.past.Snapshots[:len(x.past.Snapshots)-1]
	if err := x.snapshot(observe.Needs{
		AlsoHeldBy: wording.Places(grown), Content: x.words.Content.OrNil(), Native: nativeheap.Supported && x.Env.KeepsFiles() && x.Time.Allows(4*x.slowestSnapshot),
	}); err != nil {
		return x.inconclusive(err), false
	}
	x.past.Last().Settled = true
	x.noteDescriptors(open)
	x.findHolders()
	x.findCallerOfC()
	o, _ = x.conclude()
	if waited && !x.timers.shared && (o.Verdict == verdict.Pass || hasLeft(grown, x.past.First(), old, x.past.Last())) {
		return o, true
	}
	if err := draining(grown, x.finder.Growth()); err != nil {
		return x.cutShort(err), false
	}
	if o = x.confirm(o); o != nil {
		o = x.outlast(o)
	}
	if o != nil {
		x.recordCalls(o)
	}
	return o, false
}

// noteDescriptors notes which descriptors the objects at some branches have, as far as they were
// asked for.
func (x *Experiment) noteDescriptors(open []*tree.Branch) {
	x.finder.Descriptors = make(map[tree.GrowthKey][]int)
	for i, b := range open {
		key := b.GrowthKey()
		x.finder.Descriptors[key] = append(x.finder.Descriptors[key], x.words.Content.Handles[i].Numbers...)
	}
}

// draining returns the error that goroutines pile up, and nothing else, and that a hundredth of
// each pile and more has ended since it was seen before, while op was not called: calls that are
// faster than what they start look like a leak. It returns nil if that is not so.
func draining(before, now *finding.Growth) error {
	piled := make(map[pile.Origin]int64)
	for _, l := range before.Leaks {
		if l.Goroutines != nil && !l.Deepens {
			piled[l.Origin] = l.Piled.Grown()
		}
	}
	for _, l := range now.Leaks {
		if l.Goroutines == nil || l.Deepens || 100*l.Piled.Grown() > 99*piled[l.Origin] {
			return nil
		}
	}
	if now.None() {
		return nil
	}
	return &refscan.UnavailableError{
		Cause:  "goroutines pile up, and end one after another while op is not called, so that all may end",
		Remedy: "let op wait for the goroutines that it starts",
	}
}
