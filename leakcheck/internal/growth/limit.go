package growth

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/refscan"
)

// An operation that leaves descriptors, threads, processes, mappings or locked memory behind meets
// a limit of the system. A limit looks like a plateau: nothing grows any more. Or the operation
// fails there, and some libraries end the process. So calls stay below the limits.

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
	for n > 0 && !x.op.ended() {
		k := min(n, int(x.op.calls), x.limits.room(x.op.calls)/warmUpParts)
		if k == 0 {
			break
		}
		if waited := x.call(k, nil); waited > 0 && x.Req.Warmup == 0 && x.Req.Iterations == 0 {
			return waited / time.Duration(k)
		}
		n -= k
	}
	return 0
}

// belowLimits returns n, or less if the calls of this batch, from 0 on, and the batches after it
// would have no room below a limit; 0 if there is no room at all.
func (x *Experiment) belowLimits(i, n int) int {
	room := x.limits.room(x.op.calls)
	return min(n, max(room/max(1, series.Intervals+2-i), min(1, room)))
}

// limits are those of the system, with what calls have left behind so far.
type limits struct {
	test      string
	before    stock    // before the first call
	announced bool     // what piles up is on standard error
	looked    struct { // when limits were last looked at
		grown ledger.ByUse
		piled uint // bits of the uses that each call since the look before had left one of, or more
		calls int64
	}
}

// room returns how many more calls stay below the limits, if each leaves as much as the calls
// before.
func (s *limits) room(calls int64) int {
	most := math.MaxInt
	s.each(calls, func(l *ledger.Limit, grown int64) {
		free := math.Floor(shareOfLimit*float64(l.Max-l.Used+grown)) - float64(grown)
		most = min(most, int(max(0, free)*float64(calls)/float64(grown)))
	})
	return most
}

// each calls f for each limit of something that calls have left behind, with its amount.
func (s *limits) each(calls int64, f func(l *ledger.Limit, grown int64)) {
	if calls == 0 || s.before.uses == nil {
		return
	}
	now, err := ledger.CountUses(s.before.uses)
	if err != nil {
		return
	}
	more := now.Since(s.before.uses)
	if grown := slices.Max(more[:]); grown == 0 {
		return
	}
	s.announce(calls, &more)
	for _, l := range ledger.Limits(now) {
		if grown := min(more[l.Of], l.Used); grown > 0 {
			f(&l, grown)
		}
	}
}

// announce says on standard error what piles up, once, and if at two looks each call since the look
// before has left one or more: op may end the process when it meets a limit, and then nothing else
// is said. At one look alone it may be what the program maps when it begins.
func (s *limits) announce(calls int64, grown *ledger.ByUse) {
	last := s.looked
	if last.calls == calls {
		return
	}
	s.looked.grown, s.looked.calls, s.looked.piled = *grown, calls, 0
	if s.announced || last.calls == 0 {
		return
	}
	pilesUp := false
	for _, use := range [...]ledger.Use{ledger.Descriptors, ledger.Tasks, ledger.Areas} {
		if grown[use]-last.grown[use] >= calls-last.calls {
			s.looked.piled |= 1 << use
			pilesUp = pilesUp || grown[use] >= minLeft && last.piled>>use&1 != 0
		}
	}
	if !pilesUp {
		return
	}
	if left := s.before.left(); left != "" {
		s.announced = true
		fmt.Fprintf(os.Stderr, "leakcheck: %s: after %d calls of op, %s (said now in case that op ends the process)\n", s.test, calls, left)
	}
}

// met returns the error that nothing is left of a limit that op uses; nil if that is not so.
// Whatever a limit stopped may have grown without it.
func (s *limits) met(calls int64) (err error) {
	s.each(calls, func(l *ledger.Limit, grown int64) {
		if grown >= minLeft && l.Used >= l.Max {
			err = s.error(calls, l.String()+" are in use")
		}
	})
	return err
}

// noRoom returns the error that too little is left of a limit for another call.
func (s *limits) noRoom(calls int64) error {
	share, err := 0.0, s.error(calls, "too little is left") // what was in use may be given back by now
	s.each(calls, func(l *ledger.Limit, _ int64) {
		if used := float64(l.Used) / float64(l.Max); used >= share {
			share, err = used, s.error(calls, l.String()+" are in use")
		}
	})
	return err
}

func (s *limits) error(calls int64, how string) error {
	cause := "op meets a limit of the system: " + how
	if left := s.before.left(); left != "" {
		cause += ", and after " + textfmt.CountNoun(calls, "call") + " " + left
	}
	return &refscan.UnavailableError{Cause: cause, Remedy: "let op close what it opens and end what it starts, or raise the limit"}
}
