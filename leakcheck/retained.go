package leakcheck

import (
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// AssertRetained checks what the process keeps in memory at this moment. With bounds, each must
// hold. Without, all memory that the code under test retains is compared with the golden file
// testdata/leakcheck/<Test>.golden; see the package comment for how the file is made and updated.
//
// It returns false if it failed the test, which goes on; it panics if t is nil. Unless the bounds
// can be proved without a snapshot (see Root and Type), the process is settled first: garbage is
// collected, finalizers run, and goroutines that are ending are waited for. An assertion that does
// not hold is checked twice more before the test fails. If the result cannot be determined, the
// verdict is unknown: see the package comment.
//
// It may be called several times in a test, also from tests that run in parallel; then other tests'
// memory counts too, unless Scope or Since keep it out. A call that takes a snapshot costs a few
// garbage collections, a pause of milliseconds, and a scan of the live heap.
func AssertRetained(t TestingT, opts ...Option) bool {
	environ.NeedT(t, "AssertRetained")
	t.Helper()
	r := newRequest(opts)
	defer r.Close()
	return assertion.About(r.Process).AssertRetained(t, environ.CallSite(1), r)
}
