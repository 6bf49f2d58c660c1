package assertion

import (
	"errors"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// A variable that has ended is named if nothing else can hold what it held: nothing is alive of the
// types that lead there, and nothing of unknown type is in its function's frames.
func TestEnded(t *testing.T) {
	server := proof.Ended{Name: "srv", Func: "app.TestX", File: "app_test.go", Line: 31, Keeps: func(typ string) bool { return typ == "*app.Server" || typ == "[]*app.Session" }}
	const note = `TypeNamed("app.Session").MaxObjects(0): srv is not used after this line (app_test.go:31): what it held is garbage; runtime.KeepAlive(srv) keeps it to be judged`
	untyped := reporttest.Frame(reporttest.Node("app.TestX.v", "*app.V", 1, 8), refscan.RootInfo{Func: "app.TestX"})
	untyped.UntypedObjects = 1
	elsewhere := reporttest.Frame(reporttest.Node("app.run.v", "*app.V", 1, 8), refscan.RootInfo{Func: "app.run"})
	elsewhere.UntypedObjects = 1
	global := func(typ string) *refscan.Node {
		return reporttest.Global(reporttest.Node("example.com/app.cache", "*app.Cache", 1, 8, reporttest.Node("x", typ, 1, 8)), "", 0)
	}
	for name, c := range map[string]struct {
		roots []*refscan.Node
		want  []string
	}{
		"nothing alive":          {nil, []string{note}},
		"something else":         {[]*refscan.Node{global("*app.Other")}, []string{note}},
		"the same type":          {[]*refscan.Node{global("*app.Server")}, nil},
		"a type on the way":      {[]*refscan.Node{global("[]*app.Session")}, nil},
		"unknown in its frame":   {[]*refscan.Node{untyped}, nil},
		"unknown in another one": {[]*refscan.Node{elsewhere}, []string{note}},
	} {
		t.Run(name, func(t *testing.T) {
			holderNotes.Clear()
			looked := 0
			w := newWorld(t)
			w.Ended = func(stack []uintptr, is func(string) bool) []proof.Ended {
				looked++
				assert.NotEmpty(t, stack)
				assert.True(t, is("*example.com/app.Session") && !is("*example.com/app.Server"))
				return []proof.Ended{server}
			}
			for range 2 { // the answer for a call is found once
				a := w.begin(&fakeT{name: name}, atMostOf(0, "app.Session"))
				assert.Equal(t, c.want, a.holders(reporttest.Report(c.roots...)))
			}
			assert.Equal(t, 1, looked)
			assert.Empty(t, w.asked, "there is a report")
		})
	}
}

// Only bounds on types ask. Without a report a snapshot is taken. While that fails nothing is said.
func TestEndedWithoutReport(t *testing.T) {
	holderNotes.Clear()
	w := newWorld(t, sessions(0))
	looked := 0
	ended := []proof.Ended{{Name: "srv", Keeps: func(string) bool { return false }}}
	w.Ended = func([]uintptr, func(string) bool) []proof.Ended { looked++; return ended }
	notes := func(options ...func(*request.Request)) []string {
		a := w.begin(&fakeT{}, options...)
		return a.holders(nil)
	}
	assert.Empty(t, notes(atMost(0, "app.sessions")))
	assert.Equal(t, 0, looked)
	errs := []error{errors.New("no fork"), nil}
	for i, err := range errs {
		w.err = err
		assert.Len(t, notes(atMostOf(0, "app.Session")), i)
	}
	assert.Equal(t, []int{2, 2}, []int{looked, len(w.asked)})
	ended = nil
	assert.Empty(t, notes(atMostOf(1, "app.Session"), atMostOf(0, "app.Cache")))
	w.Ended = nil
	assert.Empty(t, notes(atMostOf(0, "app.Session")))
}

// A pass says so, unless it compares with a baseline, in which the variable may have been in use.
func TestEndedInPass(t *testing.T) {
	holderNotes.Clear()
	w := newWorld(t, sessions(0))
	w.Ended = func([]uintptr, func(string) bool) []proof.Ended {
		return []proof.Ended{{Name: "srv", Keeps: func(string) bool { return false }}}
	}
	o := w.begin(&fakeT{}, atMostOf(2, "app.Session")).Judge()
	assert.Len(t, o.Notes, 1)
	o = w.begin(&fakeT{}, atMostOf(2, "app.Session"), since(&request.Baseline{})).Judge()
	assert.Empty(t, o.Notes)
}
