package assertion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// maxBeside is how many tests are named that were running beside one.
const maxBeside = 5

// beside says which other tests are running now, and what to do about it, unless they change
// nothing.
func (a *Assertion) beside() string {
	if a.T == nil || a.Alone {
		return ""
	}
	return advise(running())
}

// advise says what to do about tests that are running; "" about none.
func advise(tests string) string {
	if tests == "" {
		return ""
	}
	return tests + "; what they do may count too: leave out Parallel, or run each test alone with leakgate run -isolate"
}

// running says which other tests are running now; "" if none is known to.
func running() string {
	names := otherTests(realtime.AllStacks())
	n := len(names)
	if n == 0 {
		return ""
	}
	was := "was"
	if n > 1 {
		was = "were"
	}
	slices.Sort(names)
	return fmt.Sprintf("%s %s running: %s",
		textfmt.CountNoun(int64(n), "other test"), was, textfmt.EnumerateFirst(slices.Compact(names), maxBeside))
}

// otherTests returns the functions of tests that run on the goroutines of stacks, besides the
// first, which is the caller's. A test that waits for its subtests, or for its turn as a parallel
// test, does not run (go1.26 testing/testing.go, Run, Parallel), nor does one that FailNow or
// SkipNow has ended, whose goroutine may take a moment more.
func otherTests(stacks string) []string {
	var names []string
	_, others, _ := strings.Cut(stacks, "\n\n")
	realtime.Goroutines(others, func(g *realtime.Goroutine) {
		waits := slices.ContainsFunc(g.Calls, func(c realtime.Call) bool {
			return c.Function == "testing.(*T).Run" || c.Function == "testing.(*T).Parallel"
		})
		runner := slices.IndexFunc(g.Calls, func(c realtime.Call) bool { return c.Function == "testing.tRunner" })
		exit := slices.IndexFunc(g.Calls, func(c realtime.Call) bool { return c.Function == "runtime.Goexit" })
		ended := exit >= 0 && !slices.ContainsFunc(g.Calls[:exit], func(c realtime.Call) bool {
			pkg := symbol.Package(c.Function)
			return pkg != "testing" && !symbol.IsRuntime(pkg)
		})
		if waits || ended || runner < 1 {
			return
		}
		if pkg, name := symbol.Split(g.Calls[runner-1].Function); pkg != "" && pkg != "testing" && pkg != "runtime" {
			name, _, _ = strings.Cut(name, ".func") // of a subtest
			names = append(names, name)
		}
	})
	return names
}
