package growth

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// An operation that leaves something behind may meet a limit, and fail the test, before enough
// snapshots show the leak: a user has 128 inotify instances, and the warm-up calls op more often.
// What piled up until then is read without a snapshot, and logged.

// A stock is what the process holds of things that have limits.
type stock struct {
	descriptors *ledger.Ledger // nil: unknown
	goroutines  int
}

func (x *Experiment) takeStock() stock {
	s := stock{goroutines: runtime.NumGoroutine()}
	if x.Resources != nil {
		s.descriptors, _ = ledger.TakeDescriptors() // fails where there is no /proc
	}
	return s
}

// minLeft is the number of things from which on they are named. Fewer may be what the call that
// failed was about to close.
const minLeft = 8

// left says what there is more of than before, "" if nothing.
func (s *stock) left(before *stock) string {
	var parts []string
	if n, name := s.opened(before); n >= minLeft {
		if name != "" {
			name = " (" + name + ")"
		}
		parts = append(parts, fmt.Sprintf("%s descriptors%s were opened and not closed", textfmt.Count(n), name))
	}
	if n := int64(s.goroutines - before.goroutines); n >= minLeft {
		parts = append(parts, textfmt.Count(n)+" goroutines were started and have not ended")
	}
	return strings.Join(parts, ", and ")
}

// opened returns the number of new descriptors, and the most exact name that three of four of them
// have, "" if there is none.
func (s *stock) opened(before *stock) (n int64, name string) {
	if s.descriptors == nil || before.descriptors == nil {
		return 0, ""
	}
	n = s.descriptors.Count(ledger.Descriptor) - before.descriptors.Count(ledger.Descriptor)
	for level := range ledger.Levels {
		old := before.descriptors.Sizes(ledger.Descriptor, level, nil)
		for name, size := range s.descriptors.Sizes(ledger.Descriptor, level, nil) {
			if 4*(size-old[name]) >= 3*n {
				return n, name
			}
		}
	}
	return n, ""
}

// logUnfinished logs that op has failed the test, or has not returned, and what it left behind. It
// logs nothing if op did neither, or skipped the test.
func (x *Experiment) logUnfinished(before *stock) {
	if !x.inOp && !x.failed {
		return
	}
	how, call, where := "op failed the test in", x.calls, ""
	if x.inOp {
		// the log has a line of this module or the runtime: AssertNoGrowth's caller is not known to
		// package testing while op's goroutine ends
		call, where = call+1, fmt.Sprintf(" by AssertNoGrowth (%s)", x.Env.Place(x.At.File, x.At.Line))
		t, ok := x.T.(environ.Ended)
		switch {
		case !ok || !t.Failed() && !t.Skipped():
			how = "op did not return from"
		case t.Skipped():
			return
		}
	} else {
		x.T.Helper()
	}
	now := x.takeStock()
	left := now.left(before)
	if left != "" {
		left = "; until then " + left + "; if that met a limit, let op close what it opens and end what it starts"
	}
	x.T.Logf("leakcheck: whether memory grows was not checked%s, because %s call %s%s", where, how, textfmt.Count(call), left)
}
