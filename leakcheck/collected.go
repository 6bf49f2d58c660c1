package leakcheck

import (
	"weak"

	"github.com/leakgate/leakgate/leakcheck/internal/collected"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// ExpectCollected states that the object p points to must be garbage when the test ends, and fails
// the test if it is not, with the path of references that keeps it alive. The reason, such as
// "logged out", is part of the message.
//
//	s := srv.Login()
//	leakcheck.ExpectCollected(t, s, "logged out")
//	s.Logout()
//
// It keeps only a weak pointer. The check runs as a t.Cleanup function, after those that are
// registered later, so call ExpectCollected before the test registers its own cleanups. Functions
// registered with t.Cleanup may refer to the object: an object that only the testing package holds
// is no leak. A test that failed or was skipped is not checked.
//
// If the object is garbage, the check costs a garbage collection; no snapshot is taken. An object
// that is still alive then is given two more collections, for sync.Pools and finalizers, and half a
// second, for goroutines that are about to end. Only then the process is frozen and searched, as
// for AssertRetained.
//
// p must point to Go's heap: nothing else is ever garbage, and the test fails. A pointer to a field
// or an element stands for the whole object that it is part of. Small values without pointers share
// blocks of memory; such a block stays while any of them lives, so only references to the value
// itself count. ExpectCollected may be called from any goroutine.
//
// An object with a finalizer (runtime.SetFinalizer) is taken for garbage as soon as the finalizer
// is queued. If the finalizer makes the object reachable again, as those of some pools do,
// ExpectCollected does not notice: bound its type with AssertRetained.
func ExpectCollected[T any](t TestingT, p *T, reason string) {
	environ.NeedT(t, "ExpectCollected")
	t.Helper()
	collected.ExpectLater(t, collected.ExpectationOf(p, environ.CallSite(1), reason))
}

// AssertCollected fails the test unless the object that p was made for is garbage at the call. The
// message has the path of references that keeps the object alive, even if it begins at a variable
// of the test itself that is still used later on, or at a function registered with t.Cleanup.
// AssertCollected returns false if it failed the test, which goes on.
//
//	w := weak.Make(conn)
//	conn.Close()
//	leakcheck.AssertCollected(t, w, "closed")
//
// Its costs and waits are those of ExpectCollected.
func AssertCollected[T any](t TestingT, p weak.Pointer[T], reason string) bool {
	environ.NeedT(t, "AssertCollected")
	t.Helper()
	return collected.CheckNow(t, collected.NewExpectation(p, p == weak.Pointer[T]{}, environ.CallSite(1), reason))
}
