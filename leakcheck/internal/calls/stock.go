package calls

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

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
func (s *stock) left() string { return s.leftAtLeast(minLeft) }

// leftAtLeast is left for that many of a kind, or more.
func (s *stock) leftAtLeast(least int64) string {
	var parts []string
	if s.open != nil {
		opened, _ := ledger.OpenedSince(s.open)
		if int64(len(opened)) >= least {
			most := ledger.Groups(opened)[0]
			parts = append(parts, fmt.Sprintf("%d descriptors were opened and not closed (%d of %s)", len(opened), most.Size, most.Name))
		}
	}
	if now, err := ledger.CountUses(s.uses); err == nil && s.uses != nil {
		more := now.Since(s.uses)
		for use, how := range [...]string{ledger.Areas: "areas of memory were mapped and not unmapped", ledger.LockedBytes: "bytes were locked and not unlocked"} {
			if how != "" && more[use] >= least {
				parts = append(parts, textfmt.Count(more[use])+" "+how)
			}
		}
	}
	if n := runtime.NumGoroutine() - s.goroutines; int64(n) >= least {
		parts = append(parts, fmt.Sprintf("%d goroutines were started and have not ended", n))
	}
	return strings.Join(parts, ", and ")
}
