package goroutine

import (
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
)

// An Origin identifies the goroutines that one go statement starts.
type Origin struct {
	// the program's function that the goroutines run: the one that the go statement calls, or the
	// one that this function was given to run
	Entry string
	// the function that the go statement calls, if Entry is another one: net/http.(*conn).serve
	Started   string
	CreatedBy string // the function with the go statement, "" for the main goroutine
	CreatedAt string // file:line of the go statement
	// the program's function that had the function with the go statement called, if that is not the
	// program's and the ancestors of goroutines are known
	Maker string
}

// Start returns the function that the go statement calls.
func (o *Origin) Start() string {
	if o.Started != "" {
		return o.Started
	}
	return o.Entry
}

type Call = realtime.Call

// A Pile is the goroutines of one origin.
type Pile struct {
	Count int64
	// functions under way on the stacks of all of them, also those that the traces leave out
	Frames int64
	State  string // of most of them, as in a stack trace: "chan receive"
	Calls  []Call // the stack of those, innermost first
	Outer  int    // how many of the outermost calls all stacks have
	// the longest time for which one of those sleeps in all; 0 if they do not sleep
	Sleep time.Duration
	// the calls that led to the go statement, innermost first; nil: not known, see
	// realtime.Goroutine
	Ancestors []Call
}

// Place returns the innermost call that tells where the goroutines are: the program's, or, if there
// is none, the first one outside of the runtime. via is the function that the program's function
// called, unless that is the runtime's.
func (g *Pile) Place(isProgram func(pkg string) bool) (at Call, via string) {
	for i, c := range g.Calls {
		pkg := symbol.Package(c.Function)
		if isProgram(pkg) {
			if i > 0 && !IsInner(symbol.Package(g.Calls[i-1].Function)) {
				via = g.Calls[i-1].Function
			}
			return c, via
		}
		if at.Function == "" && !IsInner(pkg) {
			at = c
		}
	}
	return at, ""
}

// HasProgram reports whether a function of the program is on the stack.
func (g *Pile) HasProgram(isProgram func(pkg string) bool) bool {
	return slices.ContainsFunc(g.Calls, func(c Call) bool { return isProgram(symbol.Package(c.Function)) })
}

// Recursive returns the innermost function of the program that is on the stack more than once, ""
// if there is none.
func (g *Pile) Recursive(isProgram func(pkg string) bool) string {
	seen := make(map[string]bool)
	for _, c := range g.Calls {
		if seen[c.Function] {
			return c.Function
		}
		seen[c.Function] = isProgram(symbol.Package(c.Function))
	}
	return ""
}

// IsOn reports whether a function with this prefix is on the stack.
func (g *Pile) IsOn(prefix string) bool {
	return slices.ContainsFunc(g.Calls, func(c Call) bool { return strings.HasPrefix(c.Function, prefix) })
}
