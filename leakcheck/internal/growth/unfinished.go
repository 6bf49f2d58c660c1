package growth

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// An operation that leaves something behind may meet a limit, and fail the test, before enough
// snapshots show the leak: a user has 128 inotify instances, and the warm-up calls op more often.
// What piled up until then is read without a snapshot, and logged, with what grew from one snapshot
// to the next if there were two.

// A stock is what the process holds of things that have limits.
type stock struct {
	open       ledger.DescriptorSet // nil: unknown
	uses       *ledger.Uses         // nil: unknown
	goroutines int
}

// firstTimer is done when the process has had a timer: with the first, the runtime opens two
// descriptors (go1.26 runtime/time.go and runtime/netpoll.go, netpollGenericInit).
var firstTimer sync.Once

func takeStock(resources bool) stock {
	firstTimer.Do(func() { realtime.Sleep(time.Nanosecond) })
	s := stock{goroutines: runtime.NumGoroutine()}
	if resources { // both fail where there is no /proc
		s.open, _ = ledger.ListDescriptors()
		s.uses, _ = ledger.CountUses(nil)
	}
	return s
}

// minLeft is the number of things from which on they are named. Fewer may be what the call that
// failed was about to close.
const minLeft = 8

// left says what there is more of now than in the stock, "" if nothing.
func (s *stock) left() string {
	var parts []string
	if s.open != nil {
		opened, _ := ledger.OpenedSince(s.open)
		if len(opened) >= minLeft {
			most := ledger.Groups(opened)[0]
			parts = append(parts, fmt.Sprintf("%d descriptors were opened and not closed (%d of %s)", len(opened), most.Size, most.Name))
		}
	}
	if now, err := ledger.CountUses(s.uses); err == nil && s.uses != nil {
		more := now.Since(s.uses)
		for use, how := range [...]string{ledger.Areas: "areas of memory were mapped and not unmapped", ledger.LockedBytes: "bytes were locked and not unlocked"} {
			if how != "" && more[use] >= minLeft {
				parts = append(parts, textfmt.Count(more[use])+" "+how)
			}
		}
	}
	if n := runtime.NumGoroutine() - s.goroutines; n >= minLeft {
		parts = append(parts, fmt.Sprintf("%d goroutines were started and have not ended", n))
	}
	return strings.Join(parts, ", and ")
}

// logUnfinished logs that op has failed the test, or has not returned, and what it left behind. It
// logs nothing if op did neither, or skipped the test.
func (x *Experiment) logUnfinished() {
	underWay := x.op.current.Load() != 0
	if !underWay && !x.op.failed {
		return
	}
	how, call, where := "failed the test in", x.op.calls, ""
	if underWay {
		// the log has a line of this module or the runtime: AssertNoGrowth's caller is not known to
		// package testing while op's goroutine ends
		call, where = call+1, " by AssertNoGrowth ("+x.Env.Place(x.At.File, x.At.Line)+")"
		t, ok := x.T.(environ.Ended)
		switch {
		case !ok || !t.Failed() && !t.Skipped():
			how = "did not return from"
		case t.Skipped():
			return
		}
	} else {
		x.T.Helper()
	}
	left := x.limits.before.left()
	if left != "" {
		left = "; until then " + left + "; if that met a limit, let op close what it opens and end what it starts"
	}
	x.T.Logf("leakcheck: whether memory grows was not checked%s, because op %s call %s%s%s", where, how, textfmt.Count(call), left, x.grownUntilNow())
}
