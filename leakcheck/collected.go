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
// registered later, so call ExpectCollected before the test registers its own cleanups. An object
// that only the testing package holds is no leak. A test that failed, panicked or was skipped is
// not checked.
//
// When a test ends, nothing uses its variables any more, and an object that only they lead to is
// garbage. If the test itself makes the server and drops it, call AssertCollected while the server
// is still in use.
//
// If the object is garbage, the check costs a garbage collection. Otherwise the object is given two
// more, and half a second. Only then the process is frozen and searched, as for AssertRetained.
//
// p must point to Go's heap. A pointer to a field or an element stands for the whole object that it
// is part of; of small values without pointers, which share blocks, only references to the value
// itself count. An object that its own finalizer makes reachable again is taken for garbage.
// ExpectCollected may be called from any goroutine.
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
