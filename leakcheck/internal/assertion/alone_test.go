package assertion

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// An outcome that one process leaves is the one that another reads.
func TestLeftOutcome(t *testing.T) {
	a := &Assertion{Test: "TestX/a b", At: environ.Site{Line: 7}, Env: &environ.Environment{Alone: t.TempDir()}}
	left := func(o *Outcome) *Outcome {
		assert.NoError(t, a.leaveOutcome(o))
		read, err := a.readOutcome(a.Env.Alone+"/"+a.key(), "")
		assert.NoError(t, err)
		return read
	}
	assert.Equal(t, &Outcome{Verdict: "pass", Notes: []string{"one\n\"note\"", "end"}, kept: true}, left(&Outcome{Verdict: "pass", Notes: []string{"one\n\"note\"", "end"}}))
	failed := &Outcome{Verdict: "fail", Misuse: true, Message: "wrong", Notes: []string{}, kept: true}
	assert.Equal(t, failed, left(&Outcome{Verdict: "fail", Misuse: true, Message: "wrong"}))
	assert.Equal(t, failed, left(&Outcome{Verdict: "pass"}), "the first that does not pass is left")
}

// An outcome without a verdict keeps its cause, whatever the process that reads it is told to do
// about it. One that is cut off is none.
func TestLeftUnknown(t *testing.T) {
	a := &Assertion{Test: "TestX", file: "x/y.golden", Env: &environ.Environment{Alone: t.TempDir()}}
	require.NoError(t, a.leaveOutcome(&Outcome{Verdict: verdict.Unknown, Err: &refscan.UnavailableError{Cause: "no fork", Remedy: "allow it", Err: errors.New("EPERM")}, Notes: []string{"note"}}))
	require.NoError(t, a.leaveOutcome(&Outcome{Verdict: verdict.Pass}))
	file := filepath.Join(a.Env.Alone, "x", "y.golden")
	assert.Equal(t, file, filepath.Join(a.Env.Alone, a.key()))
	for _, strict := range []bool{false, true} {
		a.Env.Strict = strict
		o, err := a.readOutcome(file, "")
		require.NoError(t, err)
		assert.Equal(t, &refscan.UnavailableError{Cause: "no fork: EPERM", Remedy: "allow it"}, o.Err)
		assert.Equal(t, []any{verdict.Unknown, strict}, []any{o.Verdict, o.Failed()})
	}
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for end := range len(whole) - 1 {
		require.NoError(t, os.WriteFile(file, whole[:end], 0o666))
		_, err := a.readOutcome(file, "")
		require.Error(t, err, "of %d bytes", end)
	}
	_, err = a.readOutcome(file+"2", "")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A test is judged in a process of its own where other tests may have run in this one, and where it
// can be selected by its name.
func TestWantsProcess(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Assertion)
		want   bool
	}{
		"all tests run":     {func(*Assertion) {}, true},
		"some run":          {func(a *Assertion) { a.Env.Selected.Run = "TestX" }, true},
		"it runs alone":     {func(a *Assertion) { a.Env.Selected.Run = `^TestX$/^a\.b$` }, false},
		"it runs again":     {func(a *Assertion) { a.Env.Selected = environ.Selection{Run: `^TestX$/^a\.b$`} }, true},
		"a fuzz test":       {func(a *Assertion) { a.Test = "FuzzX" }, true},
		"a benchmark":       {func(a *Assertion) { a.Test = "BenchmarkX" }, false},
		"all tests at once": {func(a *Assertion) { a.T = nil }, false},
		"Find":              {func(a *Assertion) { a.readsOnly = true }, false},
		"the process is it": {func(a *Assertion) { a.Env.Alone = "x" }, false},
		"to be measured":    {func(a *Assertion) { a.Env.Measure = true }, false},
		"repeated":          {func(a *Assertion) { a.Env.Repeat = true }, false},
		"cannot":            {func(a *Assertion) { a.RunAlone = nil }, false},
	} {
		w := newWorld(t)
		w.RunAlone = func(*Assertion) (*Outcome, error) { return nil, nil }
		a := w.begin(&fakeT{name: "TestX/a.b"})
		a.Env.Selected.Once = true
		c.change(a)
		assert.Equal(t, c.want, a.wantsProcess(), name)
	}
}

// A golden file is made by the test's own process, and what exceeds one is judged there. Where that
// cannot be, what other tests left may count.
func TestJudgedAlone(t *testing.T) {
	for name, c := range map[string]struct {
		golden   string
		alone    *Outcome
		err      error
		passes   bool
		says     string
		snapshot int
	}{
		"made there":     {"", &Outcome{Verdict: verdict.Pass, kept: true, Notes: []string{"created there"}}, nil, true, "created there", 0},
		"not made there": {"", nil, errors.New("it ended"), true, "what other tests leave may count: this test could not be judged in a process of its own: it ended", 2},
		"holds here":     {goldens(9), nil, errors.New("it is not asked"), true, "", 1},
		"holds there":    {goldens(8), &Outcome{Verdict: verdict.Pass, kept: true}, nil, true, "holds where this test runs alone, in a process of its own; with what other tests left it would not: ", 1},
		"fails there":    {goldens(8), &Outcome{Verdict: verdict.Fail, kept: true, Message: "too much"}, nil, false, "too much\njudged in a process of its own, where no other test ran", 1},
		"cannot there":   {goldens(8), nil, errors.New("it ended"), false, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sessions(9))
			asked := 0
			w.RunAlone = func(*Assertion) (*Outcome, error) { asked++; return c.alone, c.err }
			if c.golden != "" {
				w.writeGolden(t, "TestLogout.golden", c.golden)
			}
			ft, ok := w.assert()
			assert.Equal(t, c.passes, ok)
			assert.Contains(t, ft.errorText()+ft.logText(), c.says)
			assert.Len(t, w.asked, c.snapshot)
			assert.Equal(t, name != "holds here", asked == 1)
			assert.Equal(t, c.golden == "" && c.err == nil, w.golden("TestLogout.golden") == "")
		})
	}
}

// The process of a test's own leaves its outcome. The artifacts of a bound are left by the process
// that asks it.
func TestOutcomeIsLeft(t *testing.T) {
	w := newWorld(t, sessions(9))
	w.records(t)
	w.env.Alone = t.TempDir()
	w.env.Selected = environ.Selection{Run: "^TestLogout$", Once: true}
	_, ok := w.assert()
	assert.True(t, ok)
	a := w.begin(&fakeT{name: "TestLogout"})
	a.file = "TestLogout.golden"
	o, err := a.readOutcome(filepath.Join(w.env.Alone, "TestLogout.golden"), "1 other test was running: TestY")
	require.NoError(t, err)
	assert.Equal(t, []string{"created testdata/leakcheck/TestLogout.golden with 4 lines; review it and commit it", "made by this test in a process of its own, since 1 other test was running: TestY"}, o.Notes)

	w.env.Artifacts = t.TempDir()
	_, ok = w.assert(atMost(9, "app.sessions"))
	assert.False(t, ok)
	files, err := os.ReadDir(w.env.Artifacts)
	require.NoError(t, err)
	assert.Empty(t, files)
	o, err = a.readOutcome(filepath.Join(w.env.Alone, "TestLogout.golden.31"), "")
	require.NoError(t, err)
	assert.Equal(t, []any{verdict.Fail, `Root("app.sessions").MaxObjects(9): found 23 objects, 11.7 KiB: 14 objects more than allowed`}, []any{o.Verdict, o.broken})

	// A process that runs several tests neither makes nor changes golden files.
	w.env.Selected.Run, w.env.Update = "^(TestLogin|TestLogout)$", true
	ft, ok := w.assert(named("x"))
	assert.False(t, ok)
	assert.Contains(t, ft.errorText(), "there is no golden file testdata/leakcheck/x.golden")
}

// The flags of package testing that are about all tests are not those of one.
func TestPassedOn(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{nil, nil},
		{[]string{"-test.run=X", "-test.v=true", "-test.short", "-test.count", "3", "-test.cpu=1,2"}, []string{"-test.short"}},
		{[]string{"--test.run", "X", "-test.parallel", "2", "-leakcheck.update"}, []string{"-test.parallel", "2", "-leakcheck.update"}},
		{[]string{"-test.coverprofile=c.out", "-test.gocoverdir=/x", "-test.paniconexit0"}, []string{"-test.paniconexit0"}},
		{[]string{"-unknown", "-test.run=X", "value", "-test.run=Y"}, []string{"-unknown", "value", "-test.run=Y"}},
		{[]string{"-test.short", "--", "-test.run=X"}, []string{"-test.short", "--", "-test.run=X"}},
		{[]string{"-", "-test.run=X"}, []string{"-", "-test.run=X"}},
		{[]string{"-test.run"}, nil},
	} {
		assert.Equal(t, c.want, passedOn(c.args), c.args)
	}
	assert.Equal(t, ": panic: x", lastLine("panic: x\n--- FAIL: TestX (0.00s)\nFAIL\nexit status 2\n\n"))
	assert.Equal(t, ": b", lastLine("a\n  b\n"))
	assert.Empty(t, lastLine("--- FAIL: TestX\nFAIL\n"))
}

// left is how much the tests below have left, in a process that TestOwnProcess starts.
var left int

// TestLeaves leaves what breaks the bound of TestOwnProcess.
func TestLeaves(*testing.T) { left += 2 }

// TestLeavesHalf leaves half of that.
func TestLeavesHalf(*testing.T) { left++ }

// TestLeavesOtherHalf leaves the other half.
func TestLeavesOtherHalf(*testing.T) { left++ }

// begun is set for the processes that the tests below start.
const begun = "ASSERTION_TEST_BEGUN"

// ownProcess returns an assertion of a test of this binary. In a process that the assertion's tests
// start, it leaves an outcome for them, and returns nil.
func ownProcess(t *testing.T, subtest string) *Assertion {
	t.Helper()
	a := &Assertion{Checker: newWorld(t).Checker, T: t, Test: t.Name() + subtest, At: environ.Site{Line: 1}, Env: environ.CurrentEnvironment(), Req: &request.Request{}}
	if envvar.Alone.Value() == "" {
		require.Empty(t, os.Getenv(begun), "a process that was to leave an outcome would start others without end")
		t.Setenv(begun, "1")
		a.Env.Selected = environ.Selection{Once: true}
		return a
	}
	o := &Outcome{Verdict: verdict.Pass, Notes: []string{"alone"}}
	if left >= 2 {
		o = &Outcome{Verdict: verdict.Fail, Message: "too much"}
	}
	require.NoError(t, a.leaveOutcome(o))
	return nil
}

// Which test left what breaks a bound is found out by processes that run fewer and fewer tests.
func TestOwnProcess(t *testing.T) {
	a := ownProcess(t, "")
	if a == nil {
		return
	}
	o, err := a.inProcess("^TestOwnProcess$", 1, aloneAtMost)
	require.NoError(t, err)
	assert.Equal(t, []any{verdict.Pass, []string{"alone"}}, []any{o.Verdict, o.Notes})
	o, err = a.inProcess("^(TestLeaves|TestOwnProcess)$", 1, aloneAtMost)
	require.NoError(t, err)
	assert.Equal(t, []any{verdict.Fail, "too much"}, []any{o.Verdict, o.Message})
	_, err = a.inProcess("^TestLeaves$", 1, aloneAtMost)
	require.EqualError(t, err, "it ended there without this assertion")
	_, err = a.inProcess("(", 1, aloneAtMost)
	require.ErrorContains(t, err, "its process ended before this assertion (exit status ")

	for want, before := range map[string][]string{
		"TestLeaves":   {"TestLeftOutcome", "TestBesideStart", "TestLeaves", "TestBesideEnd"},
		"another test": {"TestLeftOutcome", "TestBesideStart", "TestLeavesHalf"},
		"TestLeavesOtherHalf and tests before it": {"TestLeavesHalf", "TestLeavesOtherHalf"},
	} {
		assert.Equal(t, want, a.leaver(before))
	}
	assert.Equal(t, "another test", a.leaver(nil))
	a.Time = environ.Budget{Now: a.Now, End: a.Now().Add(leaverAtMost)}
	assert.Equal(t, "another test", a.leaver([]string{"TestLeaves"}), "there is no time for it")
}

// An earlier run of a test, or another of its subtests, may have left what breaks its bound.
func TestOwnProcessAgain(t *testing.T) {
	for _, c := range []struct{ subtest, want string }{
		{"", "an earlier run of the same test"},
		{"/a", "another subtest of TestOwnProcessAgain"},
	} {
		if c.subtest != "" {
			left++ // as the subtest before does
		}
		a := ownProcess(t, c.subtest)
		left++
		if a == nil {
			continue
		}
		a.Env.Selected.Once = c.subtest != ""
		assert.Equal(t, c.want, a.leaver(nil))
		require.NoError(t, os.Unsetenv(begun))
	}
}

// The tests that have run before one are known if flags do not select parts of tests.
func TestTestsBefore(t *testing.T) {
	a := &Assertion{Checker: newWorld(t).Checker, Env: environ.CurrentEnvironment()}
	a.Env.Selected.Run = "^TestLe.*$"
	names, known := a.testsBefore("TestWantsProcess")
	assert.Equal(t, []string{"TestLeftOutcome", "TestLeftUnknown"}, names)
	assert.True(t, known)
	_, known = a.testsBefore("TestMissing")
	assert.False(t, known)
	for _, run := range []string{"(", "TestX/a"} {
		a.Env.Selected.Run = run
		_, known = a.testsBefore("TestWantsProcess")
		assert.False(t, known, run)
	}
}

// There is no process without time for it.
func TestNoTimeForProcess(t *testing.T) {
	w := newWorld(t)
	a := w.begin(&fakeT{name: "TestX", timeout: environ.MinReserve + time.Second - 1})
	_, err := a.runAlone()
	require.EqualError(t, err, "there is no time for it")
}

// A message says which part of the broken bound the test has when it runs alone.
func TestShare(t *testing.T) {
	const here = `Root("app.sessions").MaxObjects(9): found 23 objects, 11.7 KiB: 14 objects more than allowed`
	for name, c := range map[string]struct {
		alone *Outcome
		err   error
		want  string
	}{
		"the same":  {&Outcome{Verdict: verdict.Fail, broken: here}, nil, ""},
		"less":      {&Outcome{Verdict: verdict.Fail, broken: "found 10 objects"}, nil, "run alone, in a process of its own, this test has of it: found 10 objects"},
		"nothing":   {&Outcome{Verdict: verdict.Pass}, nil, "run alone, in a process of its own, this test passes: what breaks the bound was left by another test"},
		"cannot":    {nil, errors.New("it ended"), "what other tests left may count: this test could not be judged in a process of its own: it ended"},
		"undecided": {&Outcome{Verdict: verdict.Unknown, Err: &refscan.UnavailableError{Cause: "no fork"}}, nil, "what other tests left may count: this test could not be judged in a process of its own: no fork"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sessions(9))
			w.RunAlone = func(*Assertion) (*Outcome, error) { return c.alone, c.err }
			a := w.begin(t, atMost(9, "app.sessions"))
			a.Env.Selected = environ.Selection{Run: "TestNoSuchTest/x", Once: true} // which tests have run is not known
			a.Test = "TestNoSuchTest"
			a.Time = environ.Budget{Now: w.Now, End: w.Now().Add(leaverAtMost)} // no process is started
			assert.Equal(t, c.want, a.Judge().Share)
		})
	}
}
