package growth

import (
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// An operation that leaves something behind may meet a limit, and fail the test, before enough
// snapshots show the leak: a user has 128 inotify instances, and the warm-up calls op more often.
// What piled up until then is read without a snapshot, and logged, with what grew from one snapshot
// to the next if there were two.

// logUnfinished logs that op has failed the test, or has not returned, and what it left behind. It
// logs nothing if op did neither, or skipped the test.
func (s *progress) logUnfinished() {
	underWay := s.run.Current() != 0
	if !underWay && s.run.End() != calls.Failed {
		return
	}
	how, call, where := "failed the test in", s.run.Calls, ""
	if underWay {
		// the log has a line of this module or the runtime: AssertNoGrowth's caller is not known to
		// package testing while op's goroutine ends
		call, where = call+1, " by AssertNoGrowth ("+s.a.Env.Place(s.a.At.File, s.a.At.Line)+")"
		t, ok := s.a.T.(environ.Ended)
		switch {
		case !ok || !t.Failed() && !t.Skipped():
			how = "did not return from"
		case t.Skipped():
			return
		}
	} else {
		s.a.T.Helper()
	}
	left := s.run.Left()
	if left != "" {
		left = "; until then " + left + "; if that met a limit, let op close what it opens and end what it starts"
	}
	s.a.T.Logf("leakcheck: whether memory grows was not checked%s, because op %s call %s%s%s", where, how, textfmt.Count(call), left, s.grownUntilNow())
}
