package request

import (
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// ScopeOf returns the scope of a request. Bounds name what they select, so without Scope they take
// every root; a golden file takes the roots of the module under test. A test's own locals are not
// the code under test, and live exactly as long as the test uses them, so a golden file leaves them
// out. Package variables of _test.go files stay in: they outlive the test, and are often what
// really keeps an object.
func ScopeOf(r *Request, env *environ.Environment) tree.Scope {
	s := tree.Scope{Packages: r.Scope, SkipTests: !r.Bounded()}
	if len(s.Packages) == 0 && !r.Bounded() {
		s.Packages = env.ModuleUnderTest()
	}
	return s
}
