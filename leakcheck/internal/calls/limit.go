package calls

import (
	"fmt"
	"math"
	"slices"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/refscan"
)

// An operation that leaves descriptors, threads, processes, mappings or locked memory behind meets
// a limit of the system. A limit looks like a plateau: nothing grows any more. Or the operation
// fails there, and some libraries end the process. So calls stay below the limits.

// shareOfLimit is the share of what is left of a limit that calls use at most.
const shareOfLimit = 0.8

// Limits are those of the system, with what calls have left behind so far.
type Limits struct {
	setup     *Setup
	cost      *Cost
	before    stock  // before the first call
	pending   string // what piles up, and has yet to be said
	announced bool   // what piles up is said, or about to be
	looked    struct {
		grown ledger.ByUse
		piled uint // bits of the uses that each call since the look before had left one of, or more
		calls int64
	} // when limits were last looked at
}

// Left says what there is more of now than before the first call, "" if nothing.
func (s *Limits) Left() string { return s.before.left() }

// Room returns how many more calls stay below the limits, if each leaves as much as the calls
// before.
func (s *Limits) Room() int {
	most := math.MaxInt
	s.each(func(l *ledger.Limit, grown int64) {
		free := math.Floor(shareOfLimit*float64(l.Max-l.Used+grown)) - float64(grown)
		most = min(most, int(max(0, free)*float64(s.cost.Calls)/float64(grown)))
	})
	return most
}

// each calls f for each limit of something that calls have left behind, with its amount.
func (s *Limits) each(f func(l *ledger.Limit, grown int64)) {
	if s.cost.Calls == 0 || s.before.uses == nil {
		return
	}
	now, err := ledger.CountUses(s.before.uses)
	if err != nil {
		return
	}
	more := now.Since(s.before.uses)
	if slices.Max(more[:]) == 0 {
		return
	}
	s.note(s.cost.Calls, &more)
	for _, l := range ledger.Limits(now) {
		if grown := min(more[l.Of], l.Used); grown > 0 {
			f(&l, grown)
		}
	}
}

// note prepares to say, once, what piles up: if two looks in a row found at least one more for each
// call since the look before. One look may only have seen what the program maps at its start.
func (s *Limits) note(calls int64, grown *ledger.ByUse) {
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
		s.pending = fmt.Sprintf("after %d calls of op, %s", calls, left)
	}
}

// Say says what piles up, once: op may end the process when it meets a limit, and then nothing else
// is said.
func (s *Limits) Say() {
	if s.pending != "" {
		fmt.Fprintf(s.setup.Said, "leakcheck: %s: %s (said now in case that op ends the process)\n", s.setup.Test, s.pending)
	}
	s.pending = ""
}

// LimitMet returns the error that nothing is left of a limit that op uses; nil if that is not so.
// Whatever a limit stopped may have grown without it.
func (s *Limits) LimitMet() (err error) {
	s.each(func(l *ledger.Limit, grown int64) {
		if grown >= minLeft && l.Used >= l.Max {
			err = s.error(l.String() + " are in use")
		}
	})
	return err
}

// NoRoom returns the error that too little is left of a limit for another call.
func (s *Limits) NoRoom() error {
	share, err := 0.0, s.error("too little is left") // what was in use may be given back by now
	s.each(func(l *ledger.Limit, _ int64) {
		if used := float64(l.Used) / float64(l.Max); used >= share {
			share, err = used, s.error(l.String()+" are in use")
		}
	})
	return err
}

func (s *Limits) error(how string) error {
	cause := "op meets a limit of the system: " + how
	if left := s.before.left(); left != "" {
		cause += ", and after " + textfmt.CountNoun(s.cost.Calls, "call") + " " + left
	}
	return &refscan.UnavailableError{Cause: cause, Remedy: "let op close what it opens and end what it starts, or raise the limit"}
}
