package leakcheck

import (
	"fmt"
	"os"
	"reflect"
	"sync"
	"unsafe"
	"weak"
)

// ExpectCollected states that the object p points to must be garbage when the test ends, and fails the
// test if it is not, with the path of references that keeps it alive. The reason, such as "logged out",
// is part of the message.
//
//	s := srv.Login()
//	leakcheck.ExpectCollected(t, s, "logged out")
//	s.Logout()
//
// It keeps only a weak pointer. The check runs as a t.Cleanup, after those that are registered later, so
// call it before what the test registers to be cleaned up at its end. Functions registered with t.Cleanup
// may refer to the object: what only the testing package holds is no leak. A test that failed or
// was skipped is not checked.
//
// Where all is well it costs a garbage collection; no snapshot is taken. What is still alive then is
// given two more collections, for what is in sync.Pools and finalizers, and half a second, for goroutines
// that are about to end. Only then the process is frozen and searched, as for AssertRetained.
//
// p must point to the heap. A pointer to a field or an element stands for the whole object that it is
// part of. Small values without pointers share blocks of memory; such a block stays while any of them
// lives, so only references to the value itself count. ExpectCollected may be called from any goroutine.
func ExpectCollected[T any](t TestingT, p *T, reason string) {
	if t == nil {
		fmt.Fprintln(os.Stderr, "leakcheck: ExpectCollected:", errNoTest)
		return
	}
	t.Helper()
	// weak.Make of nil is the zero Pointer, whose object is no more from the start.
	expectLater(t, newExpectation(weak.Make(p), p == nil, callSite(1), reason))
}

// AssertCollected fails the test unless the object that p was made for is garbage now, with the path of
// references that keeps it alive: be it a variable of the test itself that is still used later on,
// or a function registered with t.Cleanup. It returns false if it failed the test, which goes on.
//
//	w := weak.Make(conn)
//	conn.Close()
//	leakcheck.AssertCollected(t, w, "closed")
//
// What it costs, and what is waited for, is as for ExpectCollected.
func AssertCollected[T any](t TestingT, p weak.Pointer[T], reason string) bool {
	if t == nil {
		fmt.Fprintln(os.Stderr, "leakcheck: AssertCollected:", errNoTest)
		return false
	}
	t.Helper()
	return checkNow(t, newExpectation(p, p == weak.Pointer[T]{}, callSite(1), reason))
}

// An expectation is an object that is to be garbage.
type expectation struct {
	typ     string // of the pointer, with package names: "*app.Session"
	reason  string
	at      site
	null    bool // it was nil from the start
	size    uintptr
	address func() uintptr // 0 once it is garbage
}

func newExpectation[T any](p weak.Pointer[T], null bool, at site, reason string) *expectation {
	return &expectation{
		typ: reflect.TypeFor[*T]().String(), reason: reason, at: at, null: null, size: unsafe.Sizeof(*new(T)),
		// As a number, the address keeps nothing alive.
		address: func() uintptr { return uintptr(unsafe.Pointer(p.Value())) },
	}
}

// problem says why nothing can be told of such an object, "" if something can.
func (e *expectation) problem() string {
	switch {
	case e.null:
		return "the pointer is nil"
	case e.size == 0:
		return "values of " + e.typ[1:] + " have no size: they share one address, which is never freed"
	}
	return ""
}

func (e *expectation) isCollected() bool { return e.address() == 0 }

// expectations are those of the tests that are running, by the test's name.
var expectations struct {
	sync.Mutex
	of map[string][]*expectation
}

// expectLater registers an expectation for the end of the test. All of a test are checked at once, by a
// function that is registered with the first.
func expectLater(t TestingT, e *expectation) {
	t.Helper()
	if problem := e.problem(); problem != "" {
		t.Errorf("leakcheck: ExpectCollected: %s", problem)
		return
	}
	c, ok := t.(cleaner)
	if !ok {
		t.Errorf("leakcheck: ExpectCollected needs a test with a Cleanup method, such as *testing.T; %T has none: use AssertCollected", t)
		return
	}
	test := testName(t)
	check := func(es []*expectation) {
		t.Helper()
		if s, ok := t.(ended); ok && (s.Failed() || s.Skipped()) {
			t.Logf("leakcheck: whether %s can be collected was not checked, because the test failed or was skipped", countNoun(int64(len(es)), "object"))
			return
		}
		thisProcess().checkCollected(t, es, atEnd)
	}
	if test == "" {
		c.Cleanup(func() {
			t.Helper()
			check([]*expectation{e})
		})
		return
	}
	x := &expectations
	x.Lock()
	defer x.Unlock()
	if x.of == nil {
		x.of = make(map[string][]*expectation)
	}
	x.of[test] = append(x.of[test], e)
	if len(x.of[test]) > 1 {
		return
	}
	c.Cleanup(func() {
		t.Helper()
		x.Lock()
		es := x.of[test]
		delete(x.of, test)
		x.Unlock()
		check(es)
	})
}

func checkNow(t TestingT, e *expectation) bool {
	t.Helper()
	if problem := e.problem(); problem != "" {
		t.Errorf("leakcheck: AssertCollected: %s", problem)
		return false
	}
	return thisProcess().checkCollected(t, []*expectation{e}, now)
}
