package assertion

import (
	"errors"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/reporttest"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/refscan"
)

// A runM is a run of tests.
type runM func() int

func (m runM) Run() int { return m() }

// The exit code of a test binary is that of its tests, or tells that they leave too much.
func TestVerifyTestMain(t *testing.T) {
	for name, c := range map[string]struct {
		code    int
		env     environ.Environment
		reports []*refscan.Report
		err     error
		options []func(*request.Request)
		want    int
		stderr  string
		looks   int
	}{
		"holds":         {0, environ.Environment{}, []*refscan.Report{sessions(1)}, nil, []func(*request.Request){atMost(9, "app.sessions")}, 0, "", 1},
		"broken":        {0, environ.Environment{}, []*refscan.Report{sessions(9)}, nil, []func(*request.Request){atMost(9, "app.sessions")}, 1, "--- FAIL: TestMain\n    leakcheck: ", 3},
		"tests failed":  {3, environ.Environment{}, []*refscan.Report{sessions(9)}, nil, []func(*request.Request){atMost(9, "app.sessions")}, 3, "", 0},
		"no tests":      {0, environ.Environment{NoTests: true}, []*refscan.Report{sessions(9)}, nil, []func(*request.Request){atMost(9, "app.sessions")}, 0, "", 0},
		"unknown":       {0, environ.Environment{}, nil, errors.New("no fork"), []func(*request.Request){atMost(9, "app.sessions")}, 0, "--- UNKNOWN: TestMain\n    leakcheck: UNKNOWN: could not tell what is retained\n        cause:  no fork\n", 1},
		"unknown in CI": {0, environ.Environment{Ci: true}, nil, errors.New("no fork"), []func(*request.Request){atMost(9, "app.sessions")}, 1, "--- FAIL: TestMain\n    leakcheck: UNKNOWN: could not tell what is retained\n        cause:  no fork\nFAIL\n", 1},
		"made":          {0, environ.Environment{}, []*refscan.Report{sessions(1)}, nil, nil, 0, "leakcheck: created testdata/leakcheck/TestMain.golden with 3 lines; review it and commit it\n", 2},
		"made by name":  {0, environ.Environment{}, []*refscan.Report{sessions(1)}, nil, []func(*request.Request){named("x")}, 0, "leakcheck: created testdata/leakcheck/x.golden with 3 lines; review it and commit it\n", 2},
		"not by a part": {0, environ.Environment{Partial: true}, []*refscan.Report{sessions(1)}, nil, nil, 0, "leakcheck: there is no testdata/leakcheck/TestMain.golden yet; run all tests to make it, without benchmarks\n", 0},
		"not with more": {0, environ.Environment{Benchmarks: true}, []*refscan.Report{sessions(1)}, nil, nil, 0, "leakcheck: there is no testdata/leakcheck/TestMain.golden yet; run all tests to make it, without benchmarks\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.reports...)
			w.err = c.err
			w.env.NoTests, w.env.Ci, w.env.Partial, w.env.Benchmarks = c.env.NoTests, c.env.Ci, c.env.Partial, c.env.Benchmarks
			w.VerifyTestMain(runM(func() int { return c.code }), environ.Site{}, requestOf(c.options...))
			assert.Equal(t, c.want, w.exitCode)
			assert.Contains(t, w.stderr.String(), c.stderr)
			assert.Equal(t, c.stderr == "", w.stderr.Len() == 0, w.stderr.String())
			assert.Len(t, w.asked, c.looks)
		})
	}
	w := newWorld(t)
	w.VerifyTestMain(nil, environ.Site{}, requestOf())
	assert.Equal(t, 1, w.exitCode)
	assert.Equal(t, "leakcheck: VerifyTestMain: the TestingM is nil\n", w.stderr.String())
}

// What benchmarks may have left is no failure of the tests.
func TestVerifyAfterBenchmarks(t *testing.T) {
	w := newWorld(t, sessions(101))
	w.writeGolden(t, "TestMain.golden", goldens(100))
	w.env.Benchmarks = true
	w.VerifyTestMain(runM(func() int { return 0 }), environ.Site{}, requestOf())
	assert.Equal(t, 0, w.exitCode)
	assert.Contains(t, w.stderr.String(), "--- UNKNOWN: TestMain\n")
	assert.Contains(t, w.stderr.String(), "more is retained than testdata/leakcheck/TestMain.golden allows for the tests, and benchmarks may have left it: example.com/app.sessions[*]")
	w.env.Goldens = t.TempDir() // of the command, which runs the same benchmarks each time
	w.env.Update = true
	w.VerifyTestMain(runM(func() int { return 0 }), environ.Site{}, requestOf())
	assert.Equal(t, 0, w.exitCode)
	assert.Contains(t, w.stderr.String(), "/example.com/app/TestMain.golden with 4 lines")
}

// The log says what the tests have left with the operating system, and which of the descriptors no
// Go object stands for.
func TestLeftovers(t *testing.T) {
	conns := func(n int64) *refscan.Node {
		return reporttest.Global(reporttest.Node("example.com/app.conns", "[]*net.TCPConn", 1, 64, reporttest.Node("[*].fd", "*net.netFD", n, 176*n)), "/src/app/app.go", 3)
	}
	for name, c := range map[string]struct {
		left   []ledger.Item
		stderr string
	}{
		"nothing":               {nil, ""},
		"processes":             {items(ledger.Process, "sleep", 2), "leakcheck: child processes that the tests have left: 2 of sleep\n"},
		"descriptors of Go":     {items(ledger.Descriptor, "socket", 3), ""},
		"more descriptors":      {items(ledger.Descriptor, "socket", 5), "leakcheck: descriptors that the tests have left, of which at least 2 belong to no Go object: 5 of socket\n"},
		"both":                  {append(items(ledger.Descriptor, "pipe", 4), items(ledger.Process, "sh", 1)...), "leakcheck: child processes that the tests have left: 1 of sh\nleakcheck: descriptors that the tests have left, of which at least 1 belong to no Go object: 4 of pipe\n"},
		"what was there before": {items(ledger.Descriptor, "log", 9), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, reporttest.Report(conns(3), reporttest.Sessions(1)))
			now := items(ledger.Descriptor, "log", 9)
			w.Resources = func(string) (*ledger.Ledger, error) { return &ledger.Ledger{Items: now}, nil }
			w.VerifyTestMain(runM(func() int {
				if name != "what was there before" {
					now = append(now, c.left...)
				}
				return 0
			}), environ.Site{}, requestOf(atMost(9, "app.sessions")))
			assert.Equal(t, 0, w.exitCode)
			assert.Equal(t, c.stderr, w.stderr.String())
		})
	}
}

// Find judges outside of a test: it needs a bound or the name of a golden file, and writes none.
func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		options []func(*request.Request)
		err     error
		passes  bool
		message string
		bounds  int
	}{
		"holds":     {[]func(*request.Request){atMost(23, "app.sessions")}, nil, true, "", 0},
		"broken":    {[]func(*request.Request){atMost(22, "app.sessions"), atMost(99, "app.sessions")}, nil, false, "found 23 objects", 1},
		"golden":    {[]func(*request.Request){named("there")}, nil, true, "", 0},
		"no golden": {[]func(*request.Request){named("x")}, nil, false, "there is no golden file testdata/leakcheck/x.golden, and Find writes no file, so none is made here", 0},
		"nothing":   {nil, nil, false, "leakcheck: Find has no test to name a golden file after: give it a bound, or Golden", 0},
		"unknown":   {[]func(*request.Request){atMost(22, "app.sessions")}, errors.New("no fork"), false, "leakcheck: UNKNOWN: could not tell what is retained\n    cause:  no fork", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sessions(9))
			w.err = c.err
			w.writeGolden(t, "there.golden", goldens(9))
			o := w.Find(environ.Site{}, requestOf(c.options...))
			assert.Equal(t, c.passes, o.Verdict == "pass", o.Message)
			assert.Contains(t, o.Message, c.message)
			assert.NotContains(t, o.Message, "This is not a pass")
			assert.Len(t, o.Bounds, c.bounds)
			assert.Empty(t, w.golden("x.golden"))
		})
	}
	w := newWorld(t, sessions(9))
	w.env.Update = true
	w.writeGolden(t, "there.golden", goldens(8))
	o := w.Find(environ.Site{}, requestOf(named("there")))
	assert.Equal(t, "fail", string(o.Verdict))
	assert.Equal(t, goldens(8), w.golden("there.golden"))
	assert.NotEmpty(t, o.Bounds)
}
