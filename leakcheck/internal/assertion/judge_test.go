package assertion

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// A bound holds in one snapshot, or is broken in three. A snapshot that is not good enough to judge
// by counts for neither.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		reports   []*refscan.Report
		options   []func(*request.Request)
		verdict   verdict.Verdict
		snapshots int
		says      string // in the message, or the notes of a pass
	}{
		"holds":                 {[]*refscan.Report{sessions(2)}, []func(*request.Request){atMost(6, "app.sessions")}, verdict.Pass, 1, ""},
		"one too many":          {[]*refscan.Report{sessions(2)}, []func(*request.Request){atMost(5, "app.sessions")}, verdict.Fail, 3, ""},
		"about to end":          {[]*refscan.Report{sessions(9), sessions(2)}, []func(*request.Request){atMost(6, "app.sessions")}, verdict.Pass, 2, `holds in snapshot 2; not so at first: Root("app.sessions").MaxObjects(6): found 23 objects`},
		"ends at last":          {[]*refscan.Report{sessions(9), sessions(8), sessions(2)}, []func(*request.Request){atMost(6, "app.sessions")}, verdict.Pass, 3, `holds in snapshot 3; not so at first: Root("app.sessions").MaxObjects(6): found 23 objects`},
		"audit fails once":      {[]*refscan.Report{unsound(), sessions(2)}, []func(*request.Request){atMost(6, "app.sessions")}, verdict.Pass, 2, ""},
		"audit always fails":    {[]*refscan.Report{unsound()}, []func(*request.Request){atMost(6, "app.sessions")}, verdict.Unknown, 3, "the scan does not agree with the garbage collector"},
		"no such variable":      {[]*refscan.Report{sessions(2)}, []func(*request.Request){atMost(6, "app.session")}, verdict.Fail, 1, "the program has no package variable or function of that name"},
		"a bound that is wrong": {nil, []func(*request.Request){atMost(-1, "app.sessions")}, verdict.Fail, 0, "leakcheck: Root(\"app.sessions\").MaxObjects(-1): a bound cannot be negative"},
		"no baseline":           {nil, []func(*request.Request){atMost(6, "app.sessions"), since(&request.Baseline{Unknown: errors.New("no fork")})}, verdict.Unknown, 0, "there is no baseline: no fork"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.reports...)
			o := w.begin(&fakeT{name: "TestLogout"}, c.options...).Judge()
			assert.Equal(t, c.verdict, o.Verdict)
			assert.Len(t, w.asked, c.snapshots)
			assert.Contains(t, o.Message+strings.Join(o.Notes, "\n"), c.says)
			assert.Equal(t, c.verdict == verdict.Fail && c.snapshots < 3, o.Misuse, "the assertion itself is wrong")
		})
	}
}

// Later snapshots collect garbage, look for other holders of what was too much, and take a profile
// for the artifacts, for which there has to be time.
func TestNeedsOfLaterSnapshots(t *testing.T) {
	w := newWorld(t, sessions(2))
	w.env.Artifacts = t.TempDir()
	w.begin(&fakeT{name: "TestLogout"}, atMost(5, "app.sessions")).Judge()
	require.Len(t, w.asked, 3)
	assert.Equal(t, []bool{false, true, true}, []bool{w.asked[0].Collect, w.asked[1].Collect, w.asked[2].Collect})
	assert.Equal(t, []bool{false, true, true}, []bool{w.asked[0].Profile, w.asked[1].Profile, w.asked[2].Profile})
	assert.Empty(t, w.asked[0].AlsoHeldBy)
	assert.Equal(t, "example.com/app.sessions[*]", w.asked[1].AlsoHeldBy[0].Path)
	assert.Equal(t, 500*time.Millisecond, w.slept)

	w = newWorld(t, sessions(2))
	w.env.Artifacts, w.env.Every = t.TempDir(), true
	w.begin(&fakeT{name: "TestLogout"}, atMost(6, "app.sessions")).Judge()
	assert.True(t, len(w.asked) == 1 && w.asked[0].Profile, "artifacts are kept of what passes, too")

	w = newWorld(t, sessions(2))
	w.takes = 10 * time.Second
	w.begin(&fakeT{name: "TestLogout", timeout: 41 * time.Second}, atMost(5, "app.sessions")).Judge()
	require.Len(t, w.asked, 3)
	assert.Empty(t, w.asked[1].AlsoHeldBy, "there is no time to look for other holders")
}

// Where there is no time for another snapshot, the verdict is unknown, and the message says what
// was seen until then.
func TestOutOfTime(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		reports []*refscan.Report
		options []func(*request.Request)
		verdict verdict.Verdict
		says    string
	}{
		"time enough":         {time.Minute, []*refscan.Report{sessions(2)}, []func(*request.Request){atMost(5, "app.sessions")}, verdict.Fail, ""},
		"for one":             {15 * time.Second, []*refscan.Report{sessions(2)}, []func(*request.Request){atMost(5, "app.sessions")}, verdict.Unknown, "in 1 snapshot the assertion does not hold, which may be what is just about to end: Root(\"app.sessions\").MaxObjects(5): found 6 objects"},
		"for two":             {30 * time.Second, []*refscan.Report{sessions(2)}, []func(*request.Request){atMost(5, "app.sessions")}, verdict.Unknown, "in 2 snapshots the assertion does not hold"},
		"for what is unsound": {15 * time.Second, []*refscan.Report{unsound()}, []func(*request.Request){atMost(5, "app.sessions")}, verdict.Unknown, "the last snapshot is not good enough to judge by"},
		"for a golden file":   {15 * time.Second, []*refscan.Report{sessions(2)}, nil, verdict.Unknown, "the assertion holds, but what is to be written to the golden file was seen once only"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.reports...)
			w.takes = 10 * time.Second
			a := w.begin(&fakeT{name: "TestLogout", timeout: c.timeout}, c.options...)
			a.file = "TestLogout.golden"
			o := a.Judge()
			assert.Equal(t, c.verdict, o.Verdict)
			assert.Contains(t, o.Message, c.says)
			assert.Less(t, w.slept, c.timeout)
			if c.verdict == verdict.Unknown {
				assert.Contains(t, o.Message, "remedy: raise the timeout (go test -timeout)")
				assert.Empty(t, w.golden("TestLogout.golden"))
			}
		})
	}
}

// An assertion that is kept from a verdict is green only where nobody takes that for a pass. A
// system without snapshots skips the test.
func TestUnknown(t *testing.T) {
	noFork := &refscan.UnavailableError{Cause: "no fork", Remedy: "allow it", Err: errors.New("EPERM")}
	unsupported := &refscan.UnavailableError{Cause: "no snapshots here", Err: errors.ErrUnsupported}
	const cause, green = "leakcheck: UNKNOWN: could not tell what is retained\n    cause:  no fork: EPERM\n    remedy: allow it", "\n    This is not a pass: nothing was checked. It fails "
	for name, c := range map[string]struct {
		env              environ.Environment
		err              error
		errors, logs     []string
		skipped, message string
	}{
		"here":                  {environ.Environment{}, noFork, nil, []string{cause + green + "in CI, and with LEAKGATE_STRICT=1."}, "", ""},
		"in CI":                 {environ.Environment{Ci: true}, noFork, []string{cause}, nil, "", ""},
		"strict":                {environ.Environment{Strict: true}, noFork, []string{cause}, nil, "", ""},
		"no snapshots":          {environ.Environment{}, unsupported, nil, nil, "cause:  no snapshots here: unsupported operation", ""},
		"no snapshots in CI":    {environ.Environment{Ci: true}, unsupported, nil, nil, green + "with LEAKGATE_STRICT=1, as in leakgate run.", ""},
		"no snapshots, strict":  {environ.Environment{Strict: true}, unsupported, []string{"leakcheck: UNKNOWN: could not tell what is retained\n    cause:  no snapshots here: unsupported operation"}, nil, "", ""},
		"a system call refused": {environ.Environment{Ci: true}, syscall.ENOSYS, []string{"leakcheck: UNKNOWN: could not tell what is retained\n    cause:  " + syscall.ENOSYS.Error()}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.env.Ci, w.env.Strict, w.err = c.env.Ci, c.env.Strict, c.err
			ft, ok := w.assert(atMost(6, "app.sessions"))
			assert.Equal(t, c.errors, ft.errors)
			assert.Equal(t, c.errors == nil, ok)
			assert.Contains(t, ft.skipped, c.skipped)
			assert.Equal(t, c.skipped == "", ft.skipped == "")
			if c.logs != nil {
				assert.Equal(t, c.logs, ft.logs)
			}
			assert.Len(t, w.asked, 1, "another snapshot does not help")
		})
	}
}

// A golden file is made from two snapshots that agree, and compared from then on.
func TestGolden(t *testing.T) {
	w := newWorld(t, sessions(100))
	ft, ok := w.assert()
	assert.True(t, ok)
	assert.Equal(t, 2, w.snapshots)
	const created = "created testdata/leakcheck/TestLogout.golden with 4 lines; review it and commit it"
	assert.Equal(t, "leakcheck: TestLogout: "+created+"\n", w.stderr.String())
	assert.Equal(t, []string{"leakcheck: " + created}, ft.logs)
	made := w.golden("TestLogout.golden")
	w.stderr.Reset()
	for _, told := range []func(){func() { w.env.Verbose = true }, func() { w.env.Artifacts = t.TempDir() }} { // by go test, or the command
		told()
		ft, _ = w.assert(named("another"))
		assert.Contains(t, ft.logText(), "created testdata/leakcheck/another.golden")
		assert.Empty(t, w.stderr.String())
		w.env.Verbose, w.env.Dir = false, t.TempDir()
	}
	assert.Contains(t, made, "example.com/app.sessions[*].buf")

	for name, c := range map[string]struct {
		reports []*refscan.Report
		env     environ.Environment
		passes  bool
		log     string
		written bool
	}{
		"the same":         {[]*refscan.Report{sessions(100)}, environ.Environment{}, true, "", false},
		"less":             {[]*refscan.Report{sessions(90)}, environ.Environment{}, true, "testdata/leakcheck/TestLogout.golden: less is retained than 3 lines allow; an update would tighten it", false},
		"more":             {[]*refscan.Report{sessions(101)}, environ.Environment{}, false, "", false},
		"more, to be kept": {[]*refscan.Report{sessions(101)}, environ.Environment{Update: true}, true, "updated testdata/leakcheck/TestLogout.golden", true},
		"less, to be kept": {[]*refscan.Report{sessions(90)}, environ.Environment{Update: true}, true, "updated testdata/leakcheck/TestLogout.golden", true},
		"more at first":    {[]*refscan.Report{sessions(101), sessions(100)}, environ.Environment{Update: true}, true, "", false},
		"to be measured":   {[]*refscan.Report{sessions(101)}, environ.Environment{Measure: true, Update: true}, true, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.reports...)
			w.env.Update, w.env.Measure = c.env.Update, c.env.Measure
			w.writeGolden(t, "TestLogout.golden", made)
			ft, ok := w.assert()
			assert.Equal(t, c.passes, ok, ft.errorText())
			assert.Contains(t, ft.logText(), c.log)
			assert.Equal(t, c.written, w.golden("TestLogout.golden") != made)
		})
	}
}

// Where no golden file is to be made, a missing one fails the test, and the message has the command
// that makes it.
func TestMissingGolden(t *testing.T) {
	w := newWorld(t, sessions(1))
	w.env.Ci = true
	ft, ok := w.assert()
	assert.False(t, ok)
	assert.Equal(t, "leakcheck: there is no golden file testdata/leakcheck/TestLogout.golden, and CI is set, so none is made here; make it and commit it:\n"+
		"    go test example.com/app -run '^TestLogout$' -leakcheck.update", ft.errorText())
	assert.Empty(t, w.asked)
	assert.Empty(t, w.golden("TestLogout.golden"))

	w.writeGolden(t, "x.golden", "leakgate golden v1\nnonsense\n")
	ft, ok = w.assert(named("x"))
	assert.False(t, ok)
	assert.Contains(t, ft.errorText(), "leakcheck: testdata/leakcheck/x.golden:2:1: ")

	w.env.DirErr = &refscan.UnavailableError{Cause: "no folder", Err: syscall.EMFILE}
	ft, ok = w.assert(named("x"))
	assert.False(t, ok)
	assert.Contains(t, ft.errorText(), "could not tell what is retained\n    cause:  the golden file cannot be read: ")
	assert.Contains(t, ft.errorText(), "ulimit -n")
}

// A test that has failed since the beginning of a call is told from one that had failed before.
func TestFailsFromNow(t *testing.T) {
	ending := &endingT{}
	a := &Assertion{T: ending}
	failed := a.FailsFromNow()
	assert.False(t, failed())
	ending.failed = true
	assert.True(t, failed())
	assert.False(t, a.FailsFromNow()(), "it had failed before")
	assert.False(t, (&Assertion{T: &fakeT{}}).FailsFromNow()(), "it cannot tell")
}

type endingT struct {
	fakeT
	failed bool
}

func (t *endingT) Failed() bool  { return t.failed }
func (t *endingT) Skipped() bool { return false }

// An error of an audit is told from others, however it is wrapped.
func TestAuditError(t *testing.T) {
	err := observe.Audit(unsound())
	assert.False(t, IsAudit(err))
	assert.True(t, IsAudit(errors.Join(errors.New("x"), &AuditError{err})))
	assert.ErrorIs(t, &AuditError{assert.AnError}, assert.AnError)
}
