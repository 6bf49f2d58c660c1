package observe

import (
	"runtime"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/refscan"
)

// MemProfile returns the memory profiler's records of all stacks, as of the last collection that
// runtime.GC completed. The exception is that the runtime began another collection before that one
// had swept (go1.26 runtime/mgc.go, GC; mprof.go, mProf_PostSweep).
func MemProfile() []runtime.MemProfileRecord {
	records := make([]runtime.MemProfileRecord, 1000)
	for {
		n, ok := runtime.MemProfile(records, true)
		if ok {
			return records[:n]
		}
		records = make([]runtime.MemProfileRecord, n+n/4)
	}
}

// SetMemProfileRate changes the memory profiler's rate, in bytes for each sample (1: all
// allocations), until it is undone; a rate that the program sets meanwhile stays. Each allocation
// looks at the rate (go1.26 runtime/malloc.go, profilealloc), but heap profiles scale all samples
// by the rate at which they are written.
func SetMemProfileRate(to int) (undo func()) {
	was := runtime.MemProfileRate
	runtime.MemProfileRate = to
	return func() {
		if runtime.MemProfileRate == to {
			runtime.MemProfileRate = was
		}
	}
}

// MemProfileFrames resolves a stack, without functions of the runtime at its top.
func MemProfileFrames(stack []uintptr) (list []refscan.SourceFrame) {
	if len(stack) == 0 {
		return nil
	}
	for next := runtime.CallersFrames(stack); ; {
		f, more := next.Next()
		inRuntime := symbol.IsRuntime(symbol.Package(f.Function))
		if len(list) > 0 || !inRuntime {
			list = append(list, refscan.SourceFrame{Func: f.Function, File: f.File, Line: f.Line})
		}
		if !more {
			return list
		}
	}
}
