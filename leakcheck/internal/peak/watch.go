package peak

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A watcher reads the size of the live heap at the end of each mark phase while op runs once. It
// also starts collections, so that there are such ends. It runs in a goroutine of its own.
type watcher struct {
	x          *experiment
	ctx        context.Context
	markPhases *gcwatch.Watch
	last       uint64        // number of the last collection that was judged
	began      time.Duration // by realtime.Clock, the watch
	seen       time.Duration // the last look
	aim        time.Duration // after the beginning, of the snapshot that settles a doubt
	settled    *peak         // that snapshot
	looked     atomic.Bool   // it has been taken
	returned   time.Duration // when op did
	opEnded    atomic.Bool
	stop       chan struct{}
	stopped    chan struct{}
	once       sync.Once
	again      bool // a collection is to follow at once
	err        error

	_ [0]func() // is not compared: the comparison would be code
}

// A peak is a live heap that is larger than the bound allows.
type peak struct {
	// least is how many bytes were alive at the end of the mark phase beyond those before the call,
	// without what was allocated from before the mark phase until after its end
	least    int64
	certain  bool // least alone is more than the bound
	observed int64
	held     bool              // the snapshot shows more than the bound, too
	eval     *check.Evaluation // of the snapshot; nil: there is none
	err      error             // why there is none
	call     int               // of op
	returned bool              // op had returned
	// the mark phase ended between these times after op had begun, and found that many bytes more
	// than before the call
	from, to time.Duration
	found    int64
	at       time.Duration // of the snapshot, by realtime.Clock
	// the memory profiler's records at the peak, and after the snapshot
	inUse, allocated map[stackKey]profiled
	rate             int // of the memory profiler, then
}

const (
	// Of what the collector counts, ownBytes may be the tool's own.
	ownBytes = 64 << 10
	// maxSnapshots bounds the snapshots that are taken while op runs.
	maxSnapshots = 3
	// Between its own collections the watcher waits pauses times as long as one takes, or
	// shortPauses times if op takes less than shortOp. The first wait of a call depends on the
	// call's number, in steps of 1/phases of op's time, so that a short op is interrupted in other
	// places each time.
	pauses, shortPauses = 3, 1
	shortOp             = 20 * time.Millisecond
	leastPause          = 100 * time.Microsecond
	phases              = 8
)

func (x *experiment) watch(ctx context.Context, times int) *watcher {
	w := &watcher{x: x, ctx: ctx, markPhases: gcwatch.Start(), stop: make(chan struct{}), stopped: make(chan struct{})}
	last, _ := x.counters.Last()
	w.last = last.Number
	w.began = realtime.Clock()
	w.seen = w.began
	w.aim = x.doubts.aim(times, x.took)
	go w.run()
	return w
}

// end stops the watcher and waits for it. It may be called more than once.
func (w *watcher) end() {
	w.once.Do(func() {
		close(w.stop)
		w.markPhases.Stop()
	})
	<-w.stopped
}

func (w *watcher) run() {
	defer close(w.stopped)
	x := w.x
	if x.doubts.since > 0 {
		w.settle()
		return
	}
	next := time.NewTimer(x.took * time.Duration(x.calls%phases) / phases) // 0 in the first call
	defer next.Stop()
	for x.found == nil {
		if w.again {
			next.Reset(0)
		}
		select {
		case <-w.stop:
			return
		case <-w.markPhases.Ended():
			now, _ := x.counters.Last()
			w.lookAt(now, -1)
		case <-next.C:
			start := time.Now()
			w.again = false
			if w.err = w.collect(); w.err != nil {
				return
			}
			n := time.Duration(pauses)
			if 0 < x.took && x.took < shortOp {
				n = shortPauses
			}
			next.Reset(max(n*time.Since(start), leastPause))
		}
	}
}

// collect collects garbage and judges what is alive.
func (w *watcher) collect() error {
	_, before := w.x.counters.Last()
	if err := observe.Collect(w.ctx); err != nil {
		return err
	}
	now, after := w.x.counters.Last()
	w.lookAt(now, int64(after-before))
	return nil
}

// lookAt judges the live heap that a mark phase found. allocated is how many bytes were allocated
// from before it until after it, and negative if that is not known.
func (w *watcher) lookAt(now gcwatch.Cycle, allocated int64) {
	x := w.x
	if now.Number == w.last {
		return
	}
	if !w.opEnded.Load() {
		x.looks++
		x.unread += int(now.Number - w.last - 1)
	}
	w.last = now.Number
	from := w.seen
	w.seen = realtime.Clock()
	added := int64(now.Live) - x.before
	if added <= x.req.Most {
		x.most = max(x.most, added)
		return
	}
	p := &peak{rate: runtime.MemProfileRate, call: x.calls, returned: w.opEnded.Load()}
	if allocated >= 0 {
		p.least = added - allocated
		p.certain = p.least > x.req.Most+ownBytes
		x.most = max(x.most, p.least)
	}
	p.from, p.to, p.found = from-w.began, w.seen-w.began, added
	w.examine(p)
}

// examine takes a snapshot of a possible peak. The peak is certain if the snapshot shows it, too.
func (w *watcher) examine(p *peak) {
	x := w.x
	switch {
	case !x.Time.Allows(3 * x.baseTook):
		p.err = x.Time.Spent("a mark phase found more alive than the bound allows, of which there is no snapshot", nil)
	case x.snapshots >= maxSnapshots && !p.certain:
		x.doubts.add(p)
		w.again = true // the next collection tells whether it is still there
		return
	default:
		if p.certain {
			p.inUse = record().inUse
		}
		p.err = w.observe(p)
		for p.held && p.isBeingAllocated() && x.snapshots < maxSnapshots && x.Time.Allows(3*x.baseTook) {
			again := *p
			if w.observe(&again) != nil || !again.held {
				break
			}
			*p = again
		}
	}
	switch {
	case p.certain, p.held:
		x.found = p
	case p.err != nil:
		x.trouble = p.err
	default:
		x.doubts.add(p)
	}
	// collections during the scan are no look at op
	last, _ := x.counters.Last()
	w.last = last.Number
}

// isBeingAllocated reports whether the runtime's allocator holds most of the peak: the code that
// allocates it does not have it yet.
func (p *peak) isBeingAllocated() bool {
	t := p.trace()
	if t == nil {
		return false
	}
	root := t.Branches[0].Root
	return root.Kind == refscan.RootFrame && symbol.Package(root.Func) == "runtime"
}

// observe takes the snapshot, and compares it with the snapshot before op.
func (w *watcher) observe(p *peak) error {
	x := w.x
	x.snapshots++
	obs, err := x.ObserveInTime(observe.Needs{Heap: true, AsIs: true, Profile: x.Env.KeepsFiles()})
	if err != nil {
		return err
	}
	if err := observe.Audit(obs.Report); err != nil && !observe.OnlyMisses(obs.Report) {
		return err
	}
	// what earlier calls of op have left does not count for this call
	p.observed = obs.Report.Totals.AttributedBytes - x.base.Totals.AttributedBytes - (x.before - x.first)
	p.held, p.at = p.observed > x.req.Most, obs.Frozen
	x.most = max(x.most, p.observed)
	if !p.held && p.certain {
		p.allocated = record().allocated
	}
	p.eval = check.Evaluate(obs, x.Req, tree.Scope{}, nil)
	p.eval.Now, p.eval.Base = tree.NameHeldOps(p.eval.Now), tree.NameHeldOps(p.eval.Base)
	p.eval.Forest = p.eval.Now.Growth(p.eval.Base)
	return nil
}
