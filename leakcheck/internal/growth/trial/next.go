package trial

import (
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/refscan"
)

// Begin returns the trial with its first snapshot, and the first step. The first batch has so many
// calls, or less if the test would time out before the last one.
func (t *Trial) Begin(first *finding.Snapshot, batch int, m *Means) (*Trial, Step) {
	n := *t
	n.History = t.With(first)
	n.first = affordable(batch, t.Req.Iterations, m)
	n.longer = max(0, int(m.Calls)-n.first)
	return &n, n.batch(m)
}

// Next returns the trial with the result of its last step, and the next step.
func (t *Trial) Next(r *Result, m *Means) (*Trial, Step) {
	n := *t
	return &n, n.after(r, m)
}

// after takes the result of the last step into account, and returns the next step. It and those
// that it calls change a trial that is nobody's yet: a copy for each would be 25 KB of code. The
// verdict does not need the snapshot after a further batch or a wait: without it, or if it is not
// as good as the others, the trial goes on as if there had been no such step.
func (t *Trial) after(r *Result, m *Means) Step {
	needed := t.last < Further
	switch {
	case r.End == calls.Failed:
		return Step{Action: OpFailed}
	case needed && r.End == calls.Late:
		return Step{Action: OutOfTime}
	case needed && r.Err != nil:
		if t.last == Settle {
			t.History = t.WithoutLast()
		}
		return Step{Action: Unknown, Err: r.Err}
	case needed && t.last == Settle:
		return t.settled(r, m)
	case needed:
		return t.afterBatch(r.Snapshot, m)
	}
	good := r.Snapshot != nil && r.Snapshot.IsAsGoodAs(t.First())
	switch {
	case t.last == Outlast && good:
		return t.outlasted(r.Snapshot, m)
	case t.last == Outlast:
		return t.confirmed(t.latest, m)
	case good:
		t.History = t.WithFurther(r.Snapshot)
		return t.further(m)
	}
	return t.outlast(m)
}

// do is a step that needs a result.
func (t *Trial) do(a Action, calls int) Step {
	t.last = a
	return Step{Action: a, Calls: calls}
}

// batch is the next of the batches that double. The last one confirms what has grown until then.
func (t *Trial) batch(m *Means) Step {
	i := len(t.Snapshots) - 1
	n := BelowLimits(i, t.nextSize(m), m.Room())
	switch {
	case n == 0:
		return Step{Action: NoRoom}
	case i == series.Intervals:
		return t.do(Confirm, confirmSize(&t.Finder, n, m))
	}
	return t.do(Batch, n)
}

// afterBatch judges, and goes on as long as something grows with each batch. Growth that has been
// confirmed is given time to end.
func (t *Trial) afterBatch(s *finding.Snapshot, m *Means) Step {
	t.History = t.With(s)
	j := t.judge()
	if j.goesOn && len(t.Snapshots) > series.Intervals+1 {
		t.grown = j.Growth
		step := t.do(Settle, 0)
		step.Judgement = j
		return step
	}
	return t.goOn(j, m)
}

// goOn goes on as long as something grows. Otherwise the trial begins anew without the snapshots
// before a fall, which may have hidden growth, or with batches that fill slices; or it ends.
func (t *Trial) goOn(j *Judgement, m *Means) Step {
	for !j.goesOn && j.Passes() && t.restarts < maxRestarts {
		f := t.LastFall()
		if f == nil {
			break
		}
		t.beginAt(f.To)
		t.restarts++
		if len(t.Snapshots) == 1 { // one alone shows no growth
			return t.batch(m)
		}
		j = t.judge()
	}
	switch {
	case j.goesOn:
		return t.batch(m)
	case j.Passes() && t.restarts < maxRestarts:
		if t.beginsFull(m) {
			return t.batch(m)
		}
		if _, others := t.slicesInUse(m.Calls); others && m.hasTimeFor(t.nextSize(m)) {
			return t.batch(m)
		}
	}
	return Step{Action: Conclude, Judgement: j}
}

// settled replaces the last snapshot by the one after a wait. If timers turn out to work for many
// calls, since they have fired and part of the growth is not where it was, the trial begins anew,
// with batches that end after such timers.
func (t *Trial) settled(r *Result, m *Means) Step {
	old := t.Last()
	t.History = t.WithoutLast().With(r.Snapshot)
	j := t.judge()
	if r.Waited && !t.Shared && (j.Passes() || hasLeft(t.grown, t.First(), old, t.Last())) {
		t.Shared = true
		t.beginAt(len(t.Snapshots) - 1)
		return t.batch(m)
	}
	t.latest = j
	if t.drains = draining(t.grown, t.Growth()); t.drains != nil {
		return t.outlast(m)
	}
	t.remaining = series.FurtherBatches(t.Batches[len(t.Batches)-1])
	return t.further(m)
}

// further is a further batch if growth need not be a leak, and if there is time for one.
func (t *Trial) further(m *Means) Step {
	if t.latest.Fails() && len(t.remaining) > 0 && isDoubtful(&t.Finder) {
		if n := t.remaining[0]; m.hasTimeFor(n) && m.Room() >= n {
			t.remaining = t.remaining[1:]
			return t.do(Further, n)
		}
	}
	return t.outlast(m)
}

// outlast is a wait without calls, and half as many calls after it, if what grows may be gone by
// then.
func (t *Trial) outlast(m *Means) Step {
	if t.latest.Fails() && len(t.Further) > 0 {
		t.latest = t.judge()
	}
	if t.latest.Fails() && t.MayExpire(t.Growth()) {
		n := laterSize(m)
		if m.allows(wording.Wait+m.timeFor(n)) && m.Room() >= n {
			return t.do(Outlast, n)
		}
	}
	return t.confirmed(t.latest, m)
}

// outlasted takes the snapshot after the wait into account.
func (t *Trial) outlasted(s *finding.Snapshot, m *Means) Step {
	t.History = t.WithLater(s)
	j := t.judge()
	if j.Fails() && isThinned(&t.Finder, t.Growth()) {
		return Step{Action: CutShort, Err: &refscan.UnavailableError{
			Cause:  "part of what grows was gone " + wording.Wait.String() + " later: it may be kept for some time only",
			Remedy: "let the test shorten that time, or fill it before the first snapshot (Warmup)",
		}}
	}
	return t.confirmed(j, m)
}

// confirmed ends the trial, unless what grew until the last batch does so no more.
func (t *Trial) confirmed(j *Judgement, m *Means) Step {
	switch {
	case j.Fails() && t.drains != nil:
		return Step{Action: CutShort, Err: t.drains}
	case !j.Passes() || t.Later != nil: // a window that goes on would look like growth again
		return Step{Action: Conclude, Judgement: j}
	}
	return t.goOn(&Judgement{Growth: j.Growth, Mapping: j.Mapping}, m)
}
