package peak

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan"
)

// Doubts are mark phases that found more than the bound alive, where neither that is certain, since
// the program allocated as much while they marked, nor a snapshot at once showed it. On a busy
// machine a mark phase takes long, and the snapshot comes late, so that a peak may be behind it.
//
// So further calls of op settle doubts by snapshots, which show what is alive at one moment. While
// op runs, garbage is seldom collected but for the snapshot's sake: collections that op causes by
// what it allocates would put the snapshot off until op returns. A short op is called again and
// again until the snapshot is taken. Without enough snapshots the verdict is unknown.
type doubts struct {
	phases []*peak
	most   int64 // bytes that a mark phase found

	since  time.Duration // when snapshots began to settle the doubts, by realtime.Clock; 0: they do not yet
	tries  int
	needed int           // snapshots while op ran
	taken  int           // of these
	shown  int64         // bytes that they showed at most
	late   time.Duration // how long after its beginning a snapshot showed the heap, the last time
}

const (
	snapshotsForDoubt = 4
	mostSnapshots     = 8
	// An op that takes less than settleSpan is called again and again, for mostSpan at most.
	settleSpan, mostSpan = 100 * time.Millisecond, time.Second
	// Snapshots are tried so often, and for settleTime at least.
	settleTries = 3 * mostSnapshots
	settleTime  = 2 * time.Second
	// uncollected is about how many bytes calls may allocate without a collection.
	uncollected = 128 << 20
)

func (d *doubts) add(p *peak) {
	d.phases = append(d.phases, p)
	d.most = max(d.most, p.found)
}

// areSettled reports whether no further call of op is to settle doubts.
func (d *doubts) areSettled(x *experiment) bool {
	switch {
	case len(d.phases) == 0, x.req.Iterations > 0, x.allocated <= x.req.Most:
		return true
	case d.since == 0:
		d.since = realtime.Clock()
		d.needed = min(mostSnapshots, snapshotsForDoubt*len(d.phases))
	}
	spent := realtime.Clock() - d.since
	return d.taken >= d.needed || d.tries >= settleTries && spent >= settleTime || spent >= max(4*settleTime, mostSnapshots*x.took)
}

// areDispelled reports whether there are no doubts, or enough snapshots have settled them.
func (d *doubts) areDispelled() bool { return len(d.phases) == 0 || d.since > 0 && d.taken >= d.needed }

// times returns how often op is called for a snapshot, at most, given how long it takes; 1 where
// doubts are not being settled.
func (d *doubts) times(took time.Duration) int {
	if d.since == 0 || took >= settleSpan {
		return 1
	}
	return int(mostSpan / max(took, 10*time.Microsecond))
}

// withFewCollections has the runtime collect garbage when uncollected bytes have been allocated,
// until undo is called, while doubts are settled. live is the size of the live heap. A program that
// turned collections off, or op if it changes the setting, has its way.
func (d *doubts) withFewCollections(live int64) (undo func()) {
	if d.since == 0 {
		return func() {}
	}
	set := func(percent int) int {
		defer snapshot.Turn()()
		return debug.SetGCPercent(percent)
	}
	to := int(100 * uncollected / max(live, 1<<20))
	was := set(to)
	if was < 0 || was > to {
		set(was)
		return func() {}
	}
	return func() {
		if now := set(was); now != to {
			set(now)
		}
	}
}

// aim returns when after the beginning of op a snapshot is to begin: so that it shows the heap at
// the time of a doubt, or, where op is called more than once, at any time.
func (d *doubts) aim(times int, took time.Duration) time.Duration {
	if d.since == 0 {
		return 0
	}
	_, share := math.Modf(float64(d.tries) * math.Phi) // all shares, evenly
	if times > 1 {
		return time.Duration(share * float64(took))
	}
	p := d.phases[d.tries%len(d.phases)]
	return max(0, p.from+time.Duration(share*float64(p.to-p.from))-d.late)
}

// settle takes a snapshot at the time that was aimed at.
func (w *watcher) settle() {
	x := w.x
	next := time.NewTimer(w.aim)
	defer next.Stop()
	select {
	case <-w.stop:
		return
	case <-next.C:
	}
	defer w.looked.Store(true)
	x.doubts.tries++
	if !x.Time.Allows(3 * x.baseTook) {
		return
	}
	p, began := &peak{rate: runtime.MemProfileRate, call: x.calls}, realtime.Clock()
	if err := w.observe(p); err == nil { // otherwise the doubt stays
		w.settled, x.doubts.late = p, p.at-began
	}
	last, _ := x.counters.Last()
	w.last = last.Number
}

// conclude judges the snapshot that settles a doubt, after op has returned. What calls have left is
// there only once for each: it does not count here.
func (w *watcher) conclude() {
	p, x := w.settled, w.x
	if p == nil || x.found != nil {
		return
	}
	now, _ := x.counters.Last()
	shown := p.observed - max(0, int64(now.Live)-x.before)
	p.returned = p.at > w.returned
	switch {
	case shown > x.req.Most:
		x.found = p
	case !p.returned:
		x.doubts.taken++
		x.doubts.shown = max(x.doubts.shown, shown)
	}
}

// notes says what doubts there were, and what dispelled them.
func (d *doubts) notes() []string {
	if len(d.phases) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s found more than the bound, which counts what was allocated while they marked; %s of further calls showed up to %s",
		textfmt.CountNoun(int64(len(d.phases)), "mark phase"), textfmt.CountNoun(int64(d.taken), "snapshot"), textfmt.ByteCount(max(0, d.shown)))}
}

// error says that doubts stay.
func (d *doubts) error() error {
	return &refscan.UnavailableError{
		Cause: fmt.Sprintf("%s found up to %s more alive than before op, more than the bound; that counts what was allocated while they marked, and there were too few snapshots while op ran to tell (%d)",
			textfmt.CountNoun(int64(len(d.phases)), "mark phase"), textfmt.ByteCount(d.most), d.taken),
		Remedy: "let op take longer and less run at the same time, leave Iterations out, or raise the bound",
	}
}
