package leakcheck

import (
	"math"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

const (
	intervals = 3 // between the snapshots that every leak must show up in; one more confirms it

	// maxBatch is how often op is called at most in the first batch, and batchTime how long that may
	// take if minBatch calls do not take longer.
	maxBatch  = 250
	minBatch  = 5
	batchTime = 25 * time.Millisecond
)

// An experiment is one run of AssertNoGrowth.
type experiment struct {
	*assertion
	op      func()
	count   goroutineCounter
	calls   int64 // of op, up to now
	batches []int // without the warm-up
	moments []*moment

	watchesTest bool // whether the test had not failed before op was called
	failed      bool // op failed the test, and is not called again
}

// judge runs batches until nothing is left that grows with each, or there have been enough of them. It returns nil if op
// failed the test.
func (x *experiment) judge() *outcome {
	x.watchesTest = !x.testFailed()
	batch := x.warmUp()
	if x.failed {
		return nil
	}
	if err := x.look(); err != nil {
		return x.inconclusive(err)
	}
	for i := 0; ; i++ {
		if i == intervals {
			x.sleep(retryWaits[0])
		}
		x.runBatch(batch << i)
		if x.failed {
			return nil
		}
		if err := x.look(); err != nil {
			return x.inconclusive(err)
		}
		o, grows := x.conclude()
		if !grows {
			return o
		}
		if i == intervals {
			break
		}
	}
	// What was about to end has had its last chance now.
	x.sleep(retryWaits[1])
	x.req.holders = x.growth().holders()
	x.moments = x.moments[:len(x.moments)-1]
	if err := x.look(); err != nil {
		return x.inconclusive(err)
	}
	o, _ := x.conclude()
	return o
}

// warmUp calls op at least twice and returns the size of the first batch. As many calls as that have
// then been made, unless op is slow: what is allocated in steps, each twice the one before, then
// grows in each batch.
func (x *experiment) warmUp() int {
	best := time.Duration(math.MaxInt64)
	timed := 2 // the first call may have to build what all others use
	if x.req.warmup == 1 {
		timed = 1
	}
	for range timed {
		start := time.Now()
		x.call(1)
		best = min(best, time.Since(start))
	}
	batch := batchSize(best)
	if x.req.iterations > 0 {
		batch = x.req.iterations
	}
	switch {
	case x.req.warmup > 0:
		x.call(x.req.warmup - timed)
	case best*time.Duration(batch) <= 2*batchTime:
		x.call(batch - timed)
	}
	return batch
}

// batchSize returns how often an op that takes so long is called in the first batch.
func batchSize(op time.Duration) int {
	switch {
	case op > 500*time.Millisecond:
		return 2
	case op > 50*time.Millisecond:
		return 3
	}
	return int(min(maxBatch, max(minBatch, batchTime/max(op, 1))))
}

func (x *experiment) runBatch(n int) {
	x.call(n)
	x.batches = append(x.batches, n)
}

func (x *experiment) call(n int) {
	for range n {
		if x.failed {
			return
		}
		x.op()
		x.calls++
		x.failed = x.watchesTest && x.testFailed()
	}
}

// testFailed reports whether the test has failed, as far as it tells.
func (x *experiment) testFailed() bool {
	t, ok := x.t.(ended)
	return ok && t.Failed()
}

// look takes a snapshot, again if it does not agree with the collector.
func (x *experiment) look() error {
	var also func(*refscan.Snapshot) error
	if h := x.req.holders; h != nil {
		also = h.after(nil)
	}
	for try := 0; ; try++ {
		obs, err := x.observe(x.env.keepsFiles(), also)
		if err == nil {
			err = x.see(obs)
		}
		if err == nil || !isAudit(err) || try == len(retryWaits) {
			return err
		}
		x.sleep(retryWaits[try])
	}
}

func (x *experiment) see(obs *observation) error {
	if unnamed := obs.report.Unnamed(); unnamed != nil {
		return unnamed
	}
	if err := audit(obs.report); err != nil {
		return &auditError{err}
	}
	x.env.declared = obs.names.Declaration
	x.logs = append(x.logs, obs.logs...)
	obs.logs = x.logs
	s := scope{packages: x.req.scope}
	e := evaluate(obs, x.req, s, x.env)
	m := &moment{calls: x.calls, eval: e, forest: namingOp(withoutTestingOwn(e.forest))}
	m.goroutines = x.goroutinesIn(s)
	x.moments = append(x.moments, m)
	return nil
}

func (x *experiment) inconclusive(err error) *outcome {
	o := x.unknown(err)
	if len(x.moments) > 0 {
		o.eval = x.last().eval
	}
	return o
}

func (x *experiment) first() *moment { return x.moments[0] }

func (x *experiment) last() *moment { return x.moments[len(x.moments)-1] }

// conclude returns what is to be said after the last snapshot, and whether anything grew with each batch.
func (x *experiment) conclude() (o *outcome, grows bool) {
	e := x.last().eval
	o = &outcome{verdict: verdict.Pass, eval: e, notes: e.notes, snapshots: 1, base: x.first().eval.obs.heap, before: x.first().eval.obs.report.Totals.LiveBytes}
	if len(e.problems) > 0 {
		o.verdict, o.failed, o.misuse = verdict.Fail, true, true
		o.message = "leakcheck: " + strings.Join(e.problems, "\n")
		return o, false
	}
	g := x.growth()
	o.notes = append(o.notes, g.kept...)
	if g.none() {
		return o, false
	}
	o.verdict, o.failed = verdict.Fail, true
	e.forest = g.forest
	o.bounds = g.records(x.assertion)
	o.body = func() []string { return x.growthFailure(g) }
	return o, true
}
