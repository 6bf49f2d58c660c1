package leakcheck

import (
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// VerifyTestMain runs the tests of a package and, if they passed, checks what they left behind, as
// AssertRetained does: against bounds, or with the golden file testdata/leakcheck/TestMain.golden.
// It ends the process, with a code that is not 0 if a test or the check failed. It also registers
// the flag -update, unless the package has one of its own:
//
//	func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }
//
// One limit for all that the tests of a package leave is leakcheck.Root("**").MaxBytes(8 << 20).
//
// The golden file is about what all tests leave. A run with -run or -skip, or of one of Bazel's
// shards, neither makes nor changes it, and neither does one with -bench: benchmarks leave more,
// the longer they run. If more is left after benchmarks than the file allows, the verdict is
// unknown. Bounds count what benchmarks leave, too.
func VerifyTestMain(m TestingM, opts ...Option) {
	environ.RegisterUpdate()
	assertion.ThisProcess().VerifyTestMain(m, environ.CallSite(1), newRequest(opts))
}
