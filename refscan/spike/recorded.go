package spike

import (
	"runtime"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// maxSweep bounds the wait for garbage of the mark phase to be freed, until which it counts as
// alive.
const maxSweep = 100 * time.Millisecond

// readRecords returns the memory profiler's records, nil without debug information.
func (w *watch) readRecords() []gcwatch.Recorded {
	if w.records == nil {
		return nil
	}
	all, err := w.records.Read(gcwatch.Self{})
	if err != nil {
		return nil
	}
	return all
}

// recordedSince returns what was alive at the end of a mark phase that has just ended, and at the
// end of the one before or at a usual moment. It returns nil if it is too late, since two more mark
// phases have ended.
func (w *watch) recordedSince(collection uint64) []scanreport.Recorded {
	if w.records == nil {
		return nil
	}
	for end := time.Now().Add(maxSweep); !w.records.Swept(gcwatch.Self{}) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	all := w.readRecords()
	last, _ := w.cycle()
	if all == nil || last.Number > collection+1 {
		return nil
	}
	return resolve(gcwatch.Bracket(all, last.Number > collection, w.usual))
}

// resolve names the functions of stacks of this process. Stacks end before runtime.goexit, and the
// allocator's functions are left out.
func resolve(all []gcwatch.Recorded) (found []scanreport.Recorded) {
	for _, r := range all {
		pcs := make([]uintptr, len(r.Stack))
		for i, pc := range r.Stack {
			pcs[i] = uintptr(pc)
		}
		rec := scanreport.Recorded{Before: r.Before, Alive: r.Alive}
		for frames := runtime.CallersFrames(pcs); ; {
			f, more := frames.Next()
			if f.Function != "" && f.Function != "runtime.goexit" && (len(rec.Stack) > 0 || !strings.HasPrefix(f.Function, "runtime.")) {
				rec.Stack = append(rec.Stack, refscan.SourceFrame{Func: f.Function, File: f.File, Line: f.Line})
			}
			if !more {
				break
			}
		}
		found = append(found, rec)
	}
	return found
}
