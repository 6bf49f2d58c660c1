package spike

import (
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

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
