package assertion

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// testMainName stands for the name of a test where the whole package is checked.
const testMainName = "TestMain"

func (c *Checker) VerifyTestMain(m environ.TestingM, at environ.Site, req *request.Request) {
	if m == nil {
		fmt.Fprintln(c.Stderr, "leakcheck: VerifyTestMain: the TestingM is nil")
		c.Exit(1)
		return
	}
	var before *ledger.Ledger
	if c.Resources != nil {
		before, _ = c.Resources("")
	}
	if code := m.Run(); code != 0 {
		c.Exit(code)
		return
	}
	env := c.Environment()
	if env.NoTests {
		c.Exit(0)
		return
	}
	a := &Assertion{Checker: c, Env: env, Req: req, Test: testMainName, At: at, Time: c.Budget(nil)}
	if !a.Req.Bounded() {
		name := a.Req.Golden
		if name == "" {
			name = testMainName
		}
		var err error
		if a.file, err = GoldenFile(nil, name, name, ""); err != nil {
			a.Req.Problem("%v", err)
		}
	}
	env.LogInputs(a.file)
	o := a.Judge()
	a.Keep(o)
	o.Notes = append(o.Notes, a.leftovers(before, o.Eval)...)
	for _, n := range o.Notes {
		fmt.Fprintln(c.Stderr, "leakcheck: "+n)
	}
	if o.Message != "" {
		mark := "--- FAIL: "
		if !o.Failed() {
			mark = "--- UNKNOWN: "
		}
		fmt.Fprintf(c.Stderr, "%s%s\n    %s\n", mark, testMainName, strings.ReplaceAll(o.Message, "\n", "\n    "))
	}
	if o.Failed() {
		fmt.Fprintln(c.Stderr, "FAIL")
		c.Exit(1)
		return
	}
	c.Exit(0)
}

// afterBenchmarks reports whether benchmarks have run whose leftovers are not those that a golden
// file for a whole package is about. The files of LEAKGATE_GOLDENS are made by the same command.
func (a *Assertion) afterBenchmarks() bool {
	return a.T == nil && a.Env.Benchmarks && a.Env.Goldens == ""
}
