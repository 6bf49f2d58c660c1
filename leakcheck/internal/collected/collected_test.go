package collected_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/collected"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
)

// A fakeT records what an assertion does to a test.
type fakeT struct {
	name         string
	errors, logs []string
	cleanups     []func()
	failed       bool
}

func (t *fakeT) Helper()                   {}
func (t *fakeT) Name() string              { return t.name }
func (t *fakeT) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *fakeT) Failed() bool              { return t.failed }
func (t *fakeT) Skipped() bool             { return false }
func (t *fakeT) Logf(f string, a ...any)   { t.logs = append(t.logs, fmt.Sprintf(f, a...)) }
func (t *fakeT) Errorf(f string, a ...any) { t.errors = append(t.errors, fmt.Sprintf(f, a...)) }

// end runs the functions that were registered with Cleanup, the last first.
func (t *fakeT) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
	t.cleanups = nil
}

func (t *fakeT) text() string { return strings.Join(t.errors, "\n") }

// bareT has no Cleanup.
type bareT struct{ *fakeT }

func (bareT) Cleanup() {}

type session struct {
	user   *user
	buffer []byte
}

type user struct {
	name  string
	owner *session
}

var (
	registry map[string]*session
	lastUser *user
)

func newSession() *session {
	s := &session{user: &user{name: "someone"}, buffer: make([]byte, 1000)}
	s.user.owner = s
	return s
}

func TestMain(m *testing.M) {
	assertion.RetryWaits[len(assertion.RetryWaits)-1] = time.Millisecond
	m.Run()
}

// An object that something holds fails the test, and the message says what holds it; one that
// nothing holds does not.
func TestCheckNow(t *testing.T) {
	ft := &fakeT{name: "TestNow"}
	at := environ.CallSite(0)
	assert.True(t, collected.CheckNow(ft, collected.ExpectationOf(newSession(), at, "logged out")))
	assert.Empty(t, ft.errors)

	s := newSession()
	registry = map[string]*session{"someone": s}
	defer func() { registry = nil }()
	assert.False(t, collected.CheckNow(ft, collected.NewExpectation(weak.Make(s), false, at, "logged out")))
	require.Len(t, ft.errors, 1)
	for _, part := range []string{
		"leakcheck: *collected_test.session is still reachable: logged out", "expected to be garbage (", "it keeps 3 objects alive, 1.1 KiB",
		"collected_test.registry", "[*]", "collected_test.go:",
	} {
		assert.Contains(t, ft.text(), part)
	}
	assert.NotContains(t, ft.text(), "when the test ends")
}

// What is not on the heap is never garbage, and it cannot be told of nothing.
func TestNeverGarbage(t *testing.T) {
	ft := &fakeT{name: "TestNever"}
	assert.False(t, collected.CheckNow(ft, collected.ExpectationOf(&lastUser, environ.Site{}, "")))
	assert.Contains(t, ft.text(), "it is the package variable github.com/leakgate/leakgate/leakcheck/internal/collected_test.lastUser, or part of it")
	for problem, check := range map[string]func(ft *fakeT) bool{
		"the pointer is nil": func(ft *fakeT) bool {
			return collected.CheckNow(ft, collected.ExpectationOf[session](nil, environ.Site{}, ""))
		},
		"values of struct {} have no size: they share one address": func(ft *fakeT) bool {
			return collected.CheckNow(ft, collected.ExpectationOf(new(struct{}), environ.Site{}, ""))
		},
	} {
		ft := &fakeT{}
		assert.False(t, check(ft))
		assert.Contains(t, ft.text(), "leakcheck: AssertCollected: "+problem)
	}
}

// Expectations of one test are checked together when it ends. An object that another one holds
// comes after it.
func TestExpectLater(t *testing.T) {
	ft := &fakeT{name: "TestLater"}
	s := newSession()
	registry = map[string]*session{"someone": s}
	defer func() { registry = nil }()
	collected.ExpectLater(ft, collected.ExpectationOf(s.user, environ.Site{}, "its session is gone"))
	collected.ExpectLater(ft, collected.ExpectationOf(s, environ.Site{}, "logged out"))
	collected.ExpectLater(ft, collected.ExpectationOf(newSession(), environ.Site{}, "never held"))
	assert.Len(t, ft.cleanups, 1)
	ft.Cleanup(func() { runtime.KeepAlive(s) }) // runs before, and is no leak
	ft.end()
	require.Len(t, ft.errors, 1)
	title, consequent, ok := strings.Cut(ft.text(), "these are alive only as long as that is:")
	require.True(t, ok, ft.text())
	assert.Contains(t, title, "*collected_test.session is still reachable: logged out")
	assert.Contains(t, title, "expected to be garbage when the test ends")
	assert.Contains(t, consequent, "*collected_test.user is still reachable: its session is gone")
	assert.NotContains(t, ft.text(), "never held")
}

// A test that failed, and one without Cleanup, checks nothing.
func TestNotChecked(t *testing.T) {
	ft := &fakeT{name: "TestFailed", failed: true}
	collected.ExpectLater(ft, collected.ExpectationOf(newSession(), environ.Site{}, ""))
	ft.end()
	assert.Empty(t, ft.errors)
	assert.Equal(t, []string{"leakcheck: whether 1 object can be collected was not checked, because the test failed or was skipped"}, ft.logs)
	ft = &fakeT{}
	collected.ExpectLater(bareT{ft}, collected.ExpectationOf(newSession(), environ.Site{}, ""))
	assert.Contains(t, ft.text(), "ExpectCollected needs a test with a Cleanup method")
	ft = &fakeT{}
	collected.ExpectLater(ft, collected.ExpectationOf[session](nil, environ.Site{}, ""))
	assert.Contains(t, ft.text(), "leakcheck: ExpectCollected: the pointer is nil")
}

// While a test panics its variables are still on the stack, so an object that they hold is alive.
func TestExpectLaterInPanic(t *testing.T) {
	ft := &fakeT{name: "TestPanics"}
	func() {
		defer func() { assert.Equal(t, "odd", recover()) }()
		defer ft.end()
		s := new([100]int)
		defer func() { runtime.KeepAlive(s) }()
		collected.ExpectLater(ft, collected.ExpectationOf(s, environ.Site{}, "logged out"))
		panic("odd")
	}()
	assert.Empty(t, ft.errors)
	assert.Equal(t, []string{"leakcheck: whether 1 object can be collected was not checked, because the test failed or was skipped"}, ft.logs)
}

// Without the heap there is no verdict.
func TestUnknown(t *testing.T) {
	t.Setenv("LEAKGATE_FREEZE", "spoon")
	ft := &fakeT{name: "TestUnknown"}
	s := newSession()
	registry = map[string]*session{"someone": s}
	defer func() { registry = nil }()
	collected.CheckNow(ft, collected.ExpectationOf(s, environ.Site{}, ""))
	assert.Contains(t, ft.text()+strings.Join(ft.logs, "\n"), `LEAKGATE_FREEZE is "spoon"`)
}
