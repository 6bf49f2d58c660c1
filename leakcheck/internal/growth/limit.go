package growth

import (
	"fmt"
	"math"
	"os"
	"time"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/refscan"
)

// An operation that leaves descriptors, threads or processes behind meets a limit of the system. A
// limit looks like a plateau: nothing grows any more. Or the operation fails there, and some
// libraries end the process. So calls stay below the limits.

const (
	// calls use no more than this share of what is left of a limit
	shareOfLimit = 0.8
	// the warm-up uses no more than a part of that, and leaves the rest to the batches
	warmUpParts = series.Intervals + 3
)

// callBelowLimits calls op n times, or less often if the batches would have no room below a limit,
// or, unless the number is the user's, if calls leave much work to other goroutines. It looks at
// both each time the number of calls has doubled, and returns how long that work takes for a call;
// 0: not long.
func (x *Experiment) callBelowLimits(n int) (later time.Duration) {
	for n > 0 && !x.failed && !x.late {
		n = min(n, x.room()/warmUpParts)
		k := min(n, int(x.calls))
		if k == 0 {
			break
		}
		if waited := x.call(k); waited > 0 && x.Req.Warmup == 0 && x.Req.Iterations == 0 {
			return waited / time.Duration(k)
		}
		n -= k
	}
	return 0
}

// belowLimits returns n, or less if the calls of this batch, from 0 on, and the batches after it
// would have no room below a limit; 0 if there is no room at all.
func (x *Experiment) belowLimits(i, n int) int {
	room := x.room()
	return min(n, max(room/max(1, series.Intervals+2-i), min(1, room)))
}

// room returns how many more calls stay below the limits, if each leaves as much as the calls
// before.
func (x *Experiment) room() int {
	most := math.MaxInt
	x.eachLimit(func(l *ledger.Limit, grown int64) {
		free := math.Floor(shareOfLimit*float64(l.Max-l.Used+grown)) - float64(grown)
		most = min(most, int(max(0, free)*float64(x.calls)/float64(grown)))
	})
	return most
}

// eachLimit calls f for each limit of something that calls have left behind, with its amount.
func (x *Experiment) eachLimit(f func(l *ledger.Limit, grown int64)) {
	if x.Resources == nil || x.calls == 0 {
		return
	}
	descriptors, tasks := x.before.since()
	if descriptors == 0 && tasks == 0 {
		return
	}
	x.announce(max(descriptors, tasks))
	for _, l := range ledger.Limits() {
		grown := tasks
		if l.Kind == ledger.Descriptor {
			grown = descriptors
		}
		if grown = min(grown, l.Used); grown > 0 {
			f(&l, grown)
		}
	}
}

// announce says on standard error what piles up, once, and if each call since the last look has
// left one or more: op may end the process when it meets a limit, and then nothing else is said.
func (x *Experiment) announce(grown int64) {
	before, calls := x.looked.grown, x.looked.calls
	if calls == x.calls {
		return
	}
	x.looked.grown, x.looked.calls = grown, x.calls
	if x.announced || calls == 0 || grown < minLeft || grown-before < x.calls-calls {
		return
	}
	if left := x.before.left(); left != "" {
		x.announced = true
		fmt.Fprintf(os.Stderr, "leakcheck: %s: after %d calls of op, %s (said now in case that op ends the process)\n", x.Test, x.calls, left)
	}
}

// metLimit returns the error that nothing is left of a limit that op uses; nil if that is not so.
// Whatever a limit stopped may have grown without it.
func (x *Experiment) metLimit() (err error) {
	x.eachLimit(func(l *ledger.Limit, grown int64) {
		if grown >= minLeft && l.Used >= l.Max {
			err = x.limitError(l.String() + " are in use")
		}
	})
	return err
}

// noRoom returns the error that too little is left of a limit for another call.
func (x *Experiment) noRoom() error {
	share, err := 0.0, x.limitError("too little is left") // what was in use may be given back by now
	x.eachLimit(func(l *ledger.Limit, _ int64) {
		if used := float64(l.Used) / float64(l.Max); used >= share {
			share, err = used, x.limitError(l.String()+" are in use")
		}
	})
	return err
}

func (x *Experiment) limitError(how string) error {
	cause := "op meets a limit of the system: " + how
	if left := x.before.left(); left != "" {
		cause += ", and after " + textfmt.CountNoun(x.calls, "call") + " " + left
	}
	return &refscan.UnavailableError{Cause: cause, Remedy: "let op close what it opens and end what it starts, or raise the limit"}
}
