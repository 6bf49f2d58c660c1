package service

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/refscan"
)

// traceOf returns a goroutine as runtime.Stack shows it, nil if it is the runtime's own. calls has
// the calls of stacks so far, which goroutines share.
func traceOf(g *refscan.GoroutineStack, calls map[*refscan.StackTrace][]goroutine.Call) *realtime.Goroutine {
	if g.System || g.Trace == nil {
		return nil
	}
	list, known := calls[g.Trace]
	if !known {
		list = callsOf(g.Trace.Frames)
		calls[g.Trace] = list
	}
	if len(list) == 0 {
		list = []goroutine.Call{{Function: g.Entry}} // it was running, and its frames are not known
	}
	one := &realtime.Goroutine{State: g.State, Calls: list, CreatedBy: g.CreatedBy}
	if g.WaitReason != "" {
		one.State = g.WaitReason
	}
	if g.CreatedBy != "" {
		one.CreatedAt = fmt.Sprintf("%s:%d", g.CreatedFile, g.CreatedLine)
	}
	return one
}

// callsOf returns the functions of a stack that runtime.Stack shows (go1.26 and go1.27
// runtime/traceback.go, showframe): not those that the compiler made, and of the runtime's only the
// exported ones.
func callsOf(frames []refscan.StackFrame) (calls []goroutine.Call) {
	add := func(function, file string, line int) {
		if symbol.Package(function) == "" {
			return
		}
		if rest, ok := strings.CutPrefix(function, "runtime."); ok && (rest == "" || rest[0] < 'A' || rest[0] > 'Z') {
			return
		}
		calls = append(calls, goroutine.Call{Function: function, At: fmt.Sprintf("%s:%d", file, line)})
	}
	for _, f := range frames {
		for _, in := range f.Inlined {
			add(in.Func, in.File, in.Line)
		}
		if !f.Wrapper {
			add(f.Func, f.File, f.Line)
		}
	}
	return calls
}
