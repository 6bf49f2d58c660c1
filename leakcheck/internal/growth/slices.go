package growth

import (
	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/trial"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// Elements that are appended to a slice within its capacity are nothing new in the process, if they
// have no pointers, or pointers to existing objects. Snapshots tell how much of an array is in use.
// A proof does without snapshots, so it watches whether calls make slices longer. If they seem to,
// snapshots follow. The next batch of the experiment then has as many calls as fill these slices,
// if that takes little. A leak then goes on to grow, in memory; a slice that the program empties
// when it is full does not. If so many calls take too long, the log names the slices that were not
// judged.

// moreWatched is how many batches more are called to see whether slices that have grown by numbers
// of elements that differ from call to call go on. The length of a buffer that is used again by
// each call goes up and down.
const moreWatched = 3

// watchSlices records the lengths of slices; nil if that fails.
func watchSlices(a *assertion.Assertion, source *Source) *proof.Slices {
	if source.Slices == nil {
		return nil
	}
	ctx, cancel := a.Time.Context()
	defer cancel()
	var log observe.Logger
	of, _ := source.Slices(ctx, log.Log) // a snapshot fails for the same reason, and says so
	a.Logs = append(a.Logs, log.Lines()...)
	return of
}

// callWatched calls op n times, and reports whether the calls seem to make slices longer whose
// lengths are recorded in of: each call by the same number of elements, or, in moreWatched batches
// more of as many calls, all calls together by about the same number each time. It returns true if
// that is unknown. What it knows of slices is garbage when it returns, and nothing new. Channels to
// which each call sends the same number of elements count like slices. If such a channel has little
// room, full is a note on that, and longer is false: further calls might fill the channel, and wait
// for somebody to receive.
func callWatched(run *calls.Runner, of *proof.Slices, n int, passed func()) (longer bool, full string) {
	run.Call(n, passed)
	run.AwaitTimers(n)
	if of == nil || run.Ended() {
		return true, ""
	}
	perCall, room, err := of.Queue(n)
	switch {
	case err != nil || perCall > 0 && room >= trial.FillAgain*perCall*n:
		return true, ""
	case perCall > 0:
		return false, wording.UnjudgedQueue(perCall, room)
	}
	each, some, err := of.GotLonger(n)
	for i := 0; i < moreWatched && some && !each && err == nil; i++ {
		if run.Call(n, passed); run.Ended() {
			return true, ""
		}
		some, err = of.WentOn()
	}
	return some || err != nil, ""
}
