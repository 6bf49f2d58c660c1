package leakcheck

import (
	"fmt"
	"strings"
)

// testMainName stands for the name of a test where the whole package is checked.
const testMainName = "TestMain"

// VerifyTestMain runs the tests of a package and, if they passed, checks what they left behind, as
// AssertRetained does: against bounds, or with the golden file testdata/leakcheck/TestMain.golden. It
// ends the process, with a code that is not 0 if a test or the check failed. It also registers the flag
// -update, unless the package has one of its own:
//
//	func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }
func VerifyTestMain(m TestingM, opts ...Option) {
	registerUpdate()
	thisProcess().verifyTestMain(m, callSite(1), opts)
}

func (c *checker) verifyTestMain(m TestingM, at site, opts []Option) {
	if m == nil {
		fmt.Fprintln(c.stderr, "leakcheck: VerifyTestMain: the TestingM is nil")
		c.exit(1)
		return
	}
	if code := m.Run(); code != 0 {
		c.exit(code)
		return
	}
	env := c.environment()
	if env.noTests {
		c.exit(0)
		return
	}
	a := &assertion{checker: c, env: env, req: newRequest(opts), test: testMainName, at: at}
	if !a.req.bounded() {
		name := a.req.golden
		if name == "" {
			name = testMainName
		}
		var err error
		if a.file, err = goldenFile(nil, name, name); err != nil {
			a.req.problem("%v", err)
		}
	}
	o := a.judge()
	a.keep(o)
	for _, n := range o.notes {
		fmt.Fprintln(c.stderr, "leakcheck: "+n)
	}
	if o.message != "" {
		mark := "--- FAIL: "
		if !o.failed {
			mark = "--- UNKNOWN: "
		}
		fmt.Fprintf(c.stderr, "%s%s\n    %s\n", mark, testMainName, strings.ReplaceAll(o.message, "\n", "\n    "))
	}
	if o.failed {
		fmt.Fprintln(c.stderr, "FAIL")
		c.exit(1)
		return
	}
	c.exit(0)
}
