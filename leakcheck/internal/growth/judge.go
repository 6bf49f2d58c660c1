package growth

import (
	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// maxRestarts bounds how often an experiment begins anew since something sank.
const maxRestarts = 2

// Judge runs batches until nothing is left that grows with each, or there have been enough of them.
// It returns nil if op failed the test.
func (x *Experiment) Judge() *assertion.Outcome {
	x.fails = x.FailsFromNow()
	x.past = &history.History{Env: x.Env}
	x.finder = &finding.Finder{History: x.past, Req: x.Req}
	x.words = &wording.Wording{Finder: x.finder, RecordsNative: x.RecordNative != nil}
	if x.Resources != nil {
		x.open, _, _ = ledger.OpenDescriptors()
	}
	batch := x.warmUp()
	if x.failed {
		return nil
	}
	if !x.late && x.provable(batch) {
		calls := max(batch, minProofCalls)
		if x.prove(calls) {
			return x.proved()
		}
		if x.failed {
			return nil
		}
		batch = max(batch, min(int(x.calls), 2*calls))
	}
	if x.late {
		return x.outOfTime()
	}
	if err := x.look(); err != nil {
		return x.inconclusive(err)
	}
	batch = x.sparing(x.affordable(batch))
	for restarts := 0; ; {
		i := len(x.past.Moments) - 1
		n := batch<<i + x.odd(i, batch)
		if i == series.Intervals {
			x.Sleep(assertion.RetryWaits[0])
			x.noteBlocks()
			x.recordBatch(n)
		} else {
			x.runBatch(n)
		}
		if x.failed {
			return nil
		}
		if x.late {
			return x.outOfTime()
		}
		if err := x.look(); err != nil {
			return x.inconclusive(err)
		}
		o, grows := x.conclude()
		for ; !grows && restarts < maxRestarts && o.Verdict == verdict.Pass && x.words.Recorded == nil && x.past.ForgetFall(); restarts++ {
			if grows = len(x.past.Moments) == 1; !grows { // with one there is nothing to tell by yet
				o, grows = x.conclude()
			}
		}
		switch f := x.past.LastFall(); {
		case !grows && o.Verdict == verdict.Pass && f != nil:
			o.Notes = append(o.Notes, f.Note())
			return o
		case !grows:
			return o
		}
		if len(x.past.Moments) > series.Intervals+1 {
			break
		}
	}
	// What was about to end has had its last chance now.
	x.Pause(assertion.RetryWaits[1], assertion.MoreTimers(x.past.Last().Eval.Report, x.past.First().Eval.Report), x.slowestLook+x.slowestLook/2)
	x.alsoHeldBy = wording.Places(x.finder.Growth())
	x.past.Moments = x.past.Moments[:len(x.past.Moments)-1]
	x.native = nativeheap.Supported && x.Time.Allows(4*x.slowestLook)
	if err := x.look(); err != nil {
		return x.inconclusive(err)
	}
	x.findHolders()
	o, _ := x.conclude()
	if o = x.confirm(o); o != nil {
		x.recordCalls(o)
	}
	return o
}
