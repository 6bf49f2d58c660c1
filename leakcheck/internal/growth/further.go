package growth

import (
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
)

// What has grown with each batch may be as large as the largest batch was, and not grow with the number
// of calls: batches double. A queue's array is as long as the queue ever was, a pool has as many workers
// as calls were under way at once. So what could be that has to grow in further batches, none of them
// larger than the last one: half as many calls, and twice as many as that one had. With them there are
// more than twice as many calls as before, so that an array to which each call adds gets longer, too.
func furtherBatches(last int) []int { return []int{(last + 1) / 2, last, last} }

const (
	// Objects that the further batches would add, at the rate of the batches before, for their absence
	// to tell anything: by chance there are as few as a quarter of them once in a thousand runs.
	minDue = 12
	// What adds less than this share of what is due has levelled off. An array to which each call adds
	// gets half of it at least, whatever its steps.
	minShareDue = 0.25
	// What adds this share of what is due in a batch is a leak, without further ones.
	clearShareDue = 0.5
)

// confirm runs further batches where something that grew need not be a leak, and returns the outcome
// with them; nil if op failed the test. Where there is no time for one, or no snapshot after it, what
// was told before stands.
func (x *Experiment) confirm(o *assertion.Outcome) *assertion.Outcome {
	if o.Verdict != verdict.Fail || o.Misuse {
		return o
	}
	x.alsoHeldBy = nil
	for _, n := range furtherBatches(x.batches[len(x.batches)-1]) {
		if !x.isDoubtful() || !x.Time.Allows(2*x.slowestLook+time.Duration(n+1)*x.slowestCall) {
			break
		}
		x.runBatch(n)
		if x.failed {
			return nil
		}
		if x.late || x.look() != nil {
			x.late = false
			break
		}
		m := x.last()
		x.moments = x.moments[:len(x.moments)-1]
		if !m.isAsGoodAs(x.first()) {
			break
		}
		x.further = append(x.further, m)
	}
	if len(x.further) > 0 {
		o, _ = x.conclude()
	}
	return o
}

// isDoubtful reports whether there is something that grows of which the further batches so far do not
// tell that it is a leak.
func (x *Experiment) isDoubtful() bool {
	return slices.ContainsFunc(x.growth().leaks, func(l *leak) bool {
		switch {
		case l.isResource():
			return !l.resources[0].own.isClear(l.resources[0].kind.InBytes())
		case l.goroutines != nil:
			return !l.piled.isClear(false)
		}
		return !x.seriesOf(l).isClear(l.measure == inBytes)
	})
}

// isAsGoodAs reports whether a snapshot tells all that another one does.
func (m *moment) isAsGoodAs(o *moment) bool {
	return m.doubt == nil && (m.goroutines != nil || o.goroutines == nil) && (m.ledger != nil || o.ledger == nil) && (m.native != nil || o.native == nil)
}

// isClear reports whether the series is one of a leak: each call of each batch added as many, which the
// first batch tells from what is as large as a batch, or those of the further batches did.
func (s series) isClear(bytes bool) bool {
	if s.isExact() {
		return true
	}
	share := clearShareDue
	if bytes {
		share = minShareDue
	}
	added, due := s.further()
	return len(s.more) > 0 && added >= share*due
}

// further returns what the further batches have added, and what they would have at the rate of those
// before.
func (s series) further() (added, due float64) {
	if len(s.more) == 0 {
		return 0, 0
	}
	end, last := len(s.more)-1, len(s.values)-1
	return float64(s.more[end] - s.values[last]), s.perCall() * float64(s.moreCalls[end]-s.calls[last])
}

// levelsOff reports whether the number of objects did not go on to grow in all further batches.
func (s series) levelsOff() bool {
	_, due := s.further()
	return due >= minDue && s.bytesLevelOff()
}

// bytesLevelOff is levelsOff for the bytes of memory that grows in steps: each would have been due.
func (s series) bytesLevelOff() bool {
	added, due := s.further()
	return len(s.more) == len(furtherBatches(0)) && added < minShareDue*due
}
