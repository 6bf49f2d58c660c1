package collected

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"
	"weak"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// An expectation is an object that is expected to be garbage.
type expectation struct {
	typ    string // of the pointer, as messages show it: "*app.Session"
	types  naming.TypeMatch
	reason string
	at     environ.Site
	null   bool // the pointer was nil from the start
	size   uintptr
	onHeap func() uintptr // address, 0 once it is garbage
	fixed  uintptr        // address of what is not on the heap, and is never garbage
}

func NewExpectation[T any](p weak.Pointer[T], null bool, at environ.Site, reason string) *expectation {
	types, _ := naming.MatchType(reflect.TypeFor[*T]())
	return &expectation{
		types: types, typ: naming.ShortName(naming.TypeName(reflect.TypeFor[*T]())), reason: reason, at: at, null: null, size: unsafe.Sizeof(*new(T)),
		// As a number, the address keeps nothing alive.
		onHeap: func() uintptr { return uintptr(unsafe.Pointer(p.Value())) },
	}
}

// findObject returns the start of the heap object that an address lies in, 0 if it lies in none.
// Other modules link to it, so the runtime keeps it for them (go1.26 and go1.27
// runtime/mbitmap.go).
//
//go:linkname findObject runtime.findObject
func findObject(address, _, _ uintptr) (start uintptr, span unsafe.Pointer, index uintptr)

// ExpectationOf makes an expectation of what p points to. It makes a weak pointer only to the heap:
// weak.Make of memory that is not Go's is a fatal error.
func ExpectationOf[T any](p *T, at environ.Site, reason string) *expectation {
	var w weak.Pointer[T]
	address := uintptr(unsafe.Pointer(p))
	if start, _, _ := findObject(address, 0, 0); start != 0 {
		w, address = weak.Make(p), 0
	}
	e := NewExpectation(w, p == nil, at, reason)
	e.fixed = address
	return e
}

// address returns where the object is, 0 once it is garbage.
func (e *expectation) address() uintptr {
	if e.fixed != 0 {
		return e.fixed
	}
	return e.onHeap()
}

// problem says why it cannot be told whether the object is garbage, "" if it can.
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

// expectations has the expectations of the tests that are running, by the test's name.
var expectations struct {
	sync.Mutex
	of map[string][]*expectation
}

// ExpectLater registers an expectation for the end of the test. The first expectation of a test
// registers a function with Cleanup that checks all of them at once.
func ExpectLater(t environ.TestingT, e *expectation) {
	t.Helper()
	if problem := e.problem(); problem != "" {
		t.Errorf("leakcheck: ExpectCollected: %s", problem)
		return
	}
	c, ok := t.(environ.Cleaner)
	if !ok {
		t.Errorf("leakcheck: ExpectCollected needs a test with a Cleanup method, such as *testing.T; %T has none: use AssertCollected", t)
		return
	}
	test := environ.TestName(t)
	if test != "" && !keepExpectation(test, e) {
		return
	}
	c.Cleanup(func() {
		t.Helper()
		es := []*expectation{e}
		if test != "" {
			es = takeExpectations(test)
		}
		if s, ok := t.(environ.Ended); ok && (s.Failed() || s.Skipped()) || isPanicking() {
			t.Logf("leakcheck: whether %s can be collected was not checked, because the test failed or was skipped", textfmt.CountNoun(int64(len(es)), "object"))
			return
		}
		checkCollected(assertion.ThisProcess(), t, es, atEnd)
	})
}

// isPanicking reports whether the goroutine panics. The stack of one that does still has the frames
// of the test, with its variables, and package testing marks the test as failed only after its
// cleanups (go1.26 testing/testing.go, tRunner).
func isPanicking() bool {
	var pcs [32]uintptr // the cleanup is a few frames from runtime.gopanic
	for _, pc := range pcs[:runtime.Callers(1, pcs[:])] {
		if runtime.FuncForPC(pc).Name() == "runtime.gopanic" {
			return true
		}
	}
	return false
}

// keepExpectation adds an expectation to those of a test, and reports whether it is the first.
func keepExpectation(test string, e *expectation) (first bool) {
	x := &expectations
	x.Lock()
	defer x.Unlock()
	if x.of == nil {
		x.of = make(map[string][]*expectation)
	}
	x.of[test] = append(x.of[test], e)
	return len(x.of[test]) == 1
}

// takeExpectations returns the expectations of a test, and removes them.
func takeExpectations(test string) []*expectation {
	x := &expectations
	x.Lock()
	defer x.Unlock()
	es := x.of[test]
	delete(x.of, test)
	return es
}

func CheckNow(t environ.TestingT, e *expectation) bool {
	t.Helper()
	if problem := e.problem(); problem != "" {
		t.Errorf("leakcheck: AssertCollected: %s", problem)
		return false
	}
	return checkCollected(assertion.ThisProcess(), t, []*expectation{e}, now)
}
