// Package growth calls an operation again and again, and finds what grows with the number of calls.
package growth

import (
	"math"
	"os"
	"runtime"
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/trial"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// An Experiment is one run of AssertNoGrowth. It does what its trial says, and hands it the
// results.
type Experiment struct {
	progress
	source   Source
	observer observer
	prover   prover
	began    time.Time // before the first call, by the clock that op sees
}

func NewExperiment(a *assertion.Assertion, op func(), source Source) *Experiment {
	elsewhere := source.Elsewhere != nil
	x := &Experiment{progress: progress{a: a, trial: new(trial.Trial)}, source: source}
	t := x.trial
	t.History, t.Req, t.Each, t.RecordsNative = &finding.History{Env: a.Env}, a.Req, int64(max(1, a.Req.Each)), a.Native.Record != nil
	t.Shared = a.Req.Full || a.Env.Full
	if elsewhere {
		t.Process = source.Elsewhere.String()
	}
	setup := &calls.Setup{
		Op: calls.NewOp(op, a.FailsFromNow(), a.Now), Time: a.Time, Test: a.Test, Sleep: a.Sleep,
		AwaitIdle: x.source.awaitIdle, Timers: x.source.timers(), TimerWait: assertion.MaxTimerWait, TimersPerCall: series.MinGrownPerCall,
		Resources: a.Resources != nil, Elsewhere: elsewhere,
		Note: func(note string) { a.Logs = append(a.Logs, note) }, Said: os.Stderr,
	}
	if a.Stderr != nil {
		setup.Stuck = (&stuckReport{a, elsewhere}).say
	}
	x.run = calls.NewRunner(setup)
	x.observer.a, x.observer.source = a, &x.source
	x.prover.a, x.prover.source, x.prover.run = a, &x.source, x.run
	return x
}

// The warm-up uses no more than a part of the room below limits. The rest is for the batches.
const warmUpParts = series.Intervals + 3

// Judge finds out whether anything grows with the number of calls, and returns nil if op failed the
// test.
func (x *Experiment) Judge() *assertion.Outcome {
	o := x.judge()
	if o == nil {
		return nil
	}
	pass := o.Verdict == verdict.Pass
	o.Notes = append(o.Notes, timerNotes(x.run.TimerWaits(), pass)...)
	if x.source.Elsewhere != nil {
		o.Notes = append(o.Notes, x.source.Elsewhere.Notes()...)
	}
	if pass {
		err := x.run.LimitMet()
		x.run.Say()
		if err != nil {
			return x.inconclusive(err)
		}
		o.Notes = append(o.Notes, x.trial.UnjudgedSlices(x.run.Calls)...)
		if trial.HasChunk(x.run.Mapped()) {
			o.Notes = append(o.Notes, wording.UnjudgedMapping)
		}
	}
	return o
}

// judge proves that nothing grows, or else does what the trial says until that ends.
func (x *Experiment) judge() *assertion.Outcome {
	x.run.NoteTimers(x.trial.Shared)
	x.began = time.Now()
	before := alive()
	batch := x.run.WarmUp(calls.WarmUp{Calls: x.a.Req.Warmup, Batch: x.a.Req.Iterations, Parts: warmUpParts})
	if x.run.End() == calls.Failed {
		return nil
	}
	batch = trial.BelowLimits(0, batch, x.run.Room())
	x.run.Say()
	most := math.MaxInt
	if x.a.Req.Iterations == 0 && x.source.Elsewhere == nil && x.run.Calls > 0 {
		most = mostCalls(batch, x.run.Calls, before)
	}
	batch = min(batch, most)
	if !x.run.Ended() && x.prover.provable(batch) {
		n := max(batch, minProofCalls)
		r := x.prover.prove(n)
		switch {
		case x.run.End() == calls.Failed:
			return nil
		case r.nothingNew && !r.longer:
			return x.prover.proved(r)
		case !r.nothingNew:
			batch = min(max(batch, min(int(x.run.Calls), 2*n)), most)
		}
	}
	if x.run.Ended() {
		return x.outOfTime()
	}
	first, err := x.snapshot(observe.Needs{})
	if err != nil {
		return x.inconclusive(err)
	}
	var step trial.Step
	x.trial, step = x.trial.Begin(first, batch, x.means())
	for {
		x.run.Say()
		if x.trial.Shared {
			x.run.ShareTimers()
		}
		if step.Action >= trial.Conclude {
			return x.ended(step)
		}
		r := x.attempt(step)
		x.trial, step = x.trial.Next(&r, x.means())
	}
}

// ended is the outcome of the step that ends the trial; nil if op has failed the test.
func (x *Experiment) ended(step trial.Step) *assertion.Outcome {
	switch step.Action {
	case trial.OpFailed:
		return nil
	case trial.OutOfTime:
		return x.outOfTime()
	case trial.NoRoom:
		return x.cutShort(x.run.NoRoom())
	case trial.CutShort:
		return x.cutShort(step.Err)
	case trial.Unknown:
		return x.inconclusive(step.Err)
	}
	o := x.outcome(step.Judgement)
	if step.Judgement.Fails() {
		x.trial.Native, o.Native = recordNative(x.a, x.run, &x.trial.Wording, x.observer.slowest)
	}
	return o
}

// means is what there is for further steps.
func (x *Experiment) means() *trial.Means {
	seed := (uint64(os.Getpid())<<40 ^ uint64(x.a.Now().UnixNano())) * 0x9E3779B97F4A7C15 >> 32 // Fibonacci hashing
	return &trial.Means{Cost: &x.run.Cost, Snapshot: x.observer.slowest, Left: x.a.Time.Left, Room: x.run.Room, Seed: seed}
}

// attempt does what a step says.
func (x *Experiment) attempt(step trial.Step) trial.Result {
	n := step.Calls
	switch step.Action {
	case trial.Settle:
		return x.settle(step.Judgement.Growth)
	case trial.Confirm:
		return x.confirm(n)
	case trial.Outlast:
		x.a.Sleep(wording.Wait)
	}
	x.batch(n, func() { x.run.Call(n, nil) })
	r := x.look()
	if step.Action != trial.Batch && r.End == calls.Late {
		x.run.Resume(x.run.Calls) // the verdict does not depend on these calls
	}
	return r
}

// batch runs a batch of n calls of op, which run makes.
func (x *Experiment) batch(n int, run func()) {
	x.run.Batch(n, run)
	x.trial.Batches = append(x.trial.Batches, n)
}

// look takes a snapshot after a batch, unless op is called no more.
func (x *Experiment) look() (r trial.Result) {
	if r.End = x.run.End(); r.End == calls.GoesOn {
		r.Snapshot, r.Err = x.snapshot(observe.Needs{})
	}
	return r
}

func (x *Experiment) snapshot(more observe.Needs) (*finding.Snapshot, error) {
	m, err := x.observer.take(more, moment{x.run.Calls * x.trial.Each, x.run.Mapped(), x.trial.Recorded})
	x.run.Keep(x.observer.slowest + x.observer.slowest/2)
	return m, err
}

// confirm runs the batch that confirms growth, and finds out who makes what grows.
func (x *Experiment) confirm(n int) trial.Result {
	x.a.Sleep(assertion.RetryWaits[0])
	if h := blocksBefore(x.a, &x.trial.Finder, x.run.Calls); h != nil {
		x.trial.Holders = h
	}
	allocated := x.recordBatch(n)
	r := x.look()
	if r.Snapshot != nil && allocated != nil {
		then := x.trial.Wording
		then.History = then.With(r.Snapshot)
		x.trial.Makers = makersSince(allocated, &then)
	}
	return r
}

// recordBatch runs a batch, and records the allocations of its first calls. Later heap profiles of
// this process overstate what these calls leave: they count each record as one sample in
// MemProfileRate bytes. So the profile from before the batch is the one to keep.
//
// It runs an ordinary batch if the profiler is off or records everything already, if go test writes
// a memory profile at the end, which these records would distort, and if op changes another
// process. It returns how often each stack had allocated before; nil unless makers of resources are
// wanted.
func (x *Experiment) recordBatch(n int) (before allocations) {
	if runtime.MemProfileRate <= 1 || x.a.Env.MemProfile || x.source.Elsewhere != nil {
		x.batch(n, func() { x.run.Call(n, nil) })
		return nil
	}
	x.trial.Recorded = x.trial.Last()
	if len(products(&x.trial.Finder)) > 0 {
		before = countAllocations()
	}
	enough := trial.EnoughRecorded(&x.trial.Finder, n)
	x.batch(n, func() { x.trial.RecordedCalls = record(x.a, x.run, n, enough) })
	x.trial.RecordedAll = x.trial.RecordedCalls >= enough
	return before
}

// settle waits, so that growth that is about to end can end, and takes the snapshot that replaces
// the last one. It also finds out more about what has grown.
func (x *Experiment) settle(grown *finding.Growth) (r trial.Result) {
	x.a.Sleep(assertion.RetryWaits[1])
	r.Waited = x.run.AwaitShared()
	if r.End = x.run.End(); r.End == calls.Late {
		return r
	}
	x.trial.Content = wording.ContentOf(grown, x.began)
	open := x.trial.WithDescriptors()
	for _, b := range open {
		x.trial.Content.AddHandles(b.ReportPath(), b.Root.CreatedAt, tree.Descriptors(b.Typ))
	}
	r.Snapshot, r.Err = x.snapshot(observe.Needs{
		AlsoHeldBy: wording.Places(grown), Content: x.trial.Content.OrNil(), Native: native.Supported && x.source.Elsewhere == nil && x.a.Env.KeepsFiles() && x.a.Time.Allows(4*x.observer.slowest),
	})
	if r.Err != nil {
		return r
	}
	r.Snapshot.Settled = true
	x.trial.Descriptors = descriptorsOf(open, x.trial.Content)
	then := x.trial.Finder
	then.History = then.WithoutLast().With(r.Snapshot)
	findHolders(x.a, &then, x.run.Calls)
	if by := callerOfC(x.a, &then); by != nil {
		if x.trial.Makers == nil {
			x.trial.Makers = make(map[string][]wording.Maker)
		}
		x.trial.Makers[ledger.Native.String()], x.trial.Makers[ledger.NativeBytes.String()] = by, by
	}
	return r
}

// descriptorsOf returns which descriptors the objects at some branches have, as far as they were
// asked for.
func descriptorsOf(open []*tree.Branch, content *observe.ContentQuery) map[tree.GrowthKey][]int {
	found := make(map[tree.GrowthKey][]int)
	for i, b := range open {
		key := b.GrowthKey()
		found[key] = append(found[key], content.Handles[i].Numbers...)
	}
	return found
}
