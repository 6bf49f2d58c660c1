package spike

import (
	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/symbol"
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

// resolve names the functions of stacks of this process.
func resolve(all []gcwatch.Recorded) (found []scanreport.Recorded) {
	for _, r := range all {
		pcs := make([]uintptr, len(r.Stack))
		for i, pc := range r.Stack {
			pcs[i] = uintptr(pc)
		}
		rec := scanreport.Recorded{Before: r.Before, Alive: r.Alive}
		for _, f := range symbol.CallerFrames(pcs) {
			rec.Stack = append(rec.Stack, refscan.SourceFrame{Func: f.Function, File: f.File, Line: f.Line})
		}
		found = append(found, rec)
	}
	return found
}
