package growth

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
)

// maxStuckCalls is how many functions on the stack of a call that does not return are shown.
const maxStuckCalls = 12

// A stuckReport says on standard error that a call does not return.
type stuckReport struct {
	a         *assertion.Assertion
	elsewhere bool // calls change another process
}

// say says where a call of op is, and what the calls before left behind.
func (r *stuckReport) say(s *calls.Stuck) {
	text := fmt.Sprintf("leakcheck: %s: op has not returned from call %s for %s", r.a.Test, textfmt.Count(s.Call), s.Since)
	if s.Left != "" {
		text += "; until then " + s.Left
	}
	stacks := realtime.AllStacks()
	for block := range strings.SplitSeq(stacks, "\n\n") {
		if strings.HasPrefix(block, s.Header) {
			realtime.Goroutines(block, func(g *realtime.Goroutine) { text += r.at(g) })
		}
	}
	fmt.Fprintln(r.a.Stderr, text+"\n    (said now in case that the test times out; the stacks of all goroutines follow then)")
	if r.elsewhere {
		return // what the calls have left is not here
	}
	if left := leftByEach(r.a, s.Call-1, stacks); len(left) > 0 { // which takes time
		fmt.Fprintf(r.a.Stderr, "leakcheck: %s: there are as many as calls, or a multiple:\n    %s\n", r.a.Test, strings.Join(left, "\n    "))
	}
}

// at returns the lines on the goroutine that calls op.
func (r *stuckReport) at(g *realtime.Goroutine) string {
	text := "\n    " + g.State + " in:"
	shown := 0
	for _, c := range g.Calls {
		pkg := symbol.Package(c.Function)
		if symbol.IsTool(pkg) && calls.IsOp(c.Function) {
			break
		}
		if symbol.IsRuntime(pkg) && shown == 0 {
			continue
		}
		if shown++; shown > maxStuckCalls {
			text += "\n        …"
			break
		}
		text += "\n        " + symbol.Unescape(c.Function) + " (" + r.a.Env.PlaceOf(c.At) + ")"
	}
	one := &goroutine.Pile{Count: 1, State: g.State, Calls: g.Calls}
	if i := one.Cause(&goroutine.Origin{Entry: g.Calls[len(g.Calls)-1].Function}, r.a.Env.IsProgram); i >= 0 {
		text += "\n    usual cause: " + goroutine.Causes[i].Text
	}
	return text
}
