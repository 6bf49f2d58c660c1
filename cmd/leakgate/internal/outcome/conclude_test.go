package outcome

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/verdict"
)

// observe gives c events of package p, one for each word: "run:T", "fail:T"; a word without a test
// is an event of the package. "PASS" and "FAIL" are the test binary's last line, "build" a failed
// build, and "^C" the signal.
func observe(c *Collector, words string) {
	interrupted := false
	for word := range strings.FieldsSeq(words) {
		action, test, _ := strings.Cut(word, ":")
		ev := gotest.Event{Action: action, Package: "p", Test: test}
		switch action {
		case "^C":
			interrupted = true
			continue
		case "PASS", "FAIL":
			ev.Action, ev.Output = "output", action+"\n"
		case "build":
			ev.Action, ev.FailedBuild = "fail", "p [p.test]"
		case "text-build":
			ev.Action, ev.Output = "output", "FAIL\tp [setup failed]\n"
		}
		c.Observe(&ev, interrupted)
	}
}

func record(pkg, test string, v verdict.Verdict) artifacts.Record {
	return artifacts.Record{Result: verdict.Result{Package: pkg, Test: test, Seq: 1, Verdict: v}}
}

func TestConclude(t *testing.T) {
	pass := record("p", "A", verdict.Pass)
	failed := record("p", "A", verdict.Fail)
	unknown := record("p", "A", verdict.Unknown)
	misused := failed
	misused.Result.Misuse = true
	for _, test := range []struct {
		name     string
		events   string
		records  []artifacts.Record
		problems []string
		want     Outcome
		failures []Failure
	}{
		{name: "pass", events: "start run:A pass:A PASS pass", records: []artifacts.Record{pass}, want: Pass},
		{name: "no assertion", events: "run:A pass:A PASS pass", want: Nothing},
		{name: "no tests", events: "start skip", want: Nothing},
		{
			name: "regression", events: "run:A fail:A FAIL fail", records: []artifacts.Record{failed}, want: Regression,
			failures: []Failure{{Test: "A", Kind: KindRegression}},
		},
		{
			name: "fail beats unknown in one test", events: "run:A fail:A FAIL fail", records: []artifacts.Record{unknown, failed},
			want: Regression, failures: []Failure{{Test: "A", Kind: KindRegression}},
		},
		{
			name: "unknown", events: "run:A fail:A FAIL fail", records: []artifacts.Record{unknown}, want: Unknown,
			failures: []Failure{{Test: "A", Kind: KindUnknown}},
		},
		{
			name: "passed assertion does not explain", events: "run:A fail:A FAIL fail", records: []artifacts.Record{pass},
			want: TestFailure, failures: []Failure{{Test: "A", Kind: KindOther}},
		},
		{
			name: "a name that only begins alike is no subtest", events: "run:A run:AB fail:AB fail:A FAIL fail",
			records: []artifacts.Record{record("p", "AB", verdict.Fail)},
			want:    TestFailure, failures: []Failure{{Test: "A", Kind: KindOther}, {Test: "AB", Kind: KindRegression}},
		},
		{
			name: "parents of subtests", events: "run:A run:A/b run:A/b/c fail:A/b/c fail:A/b fail:A FAIL fail",
			records: []artifacts.Record{record("p", "A/b/c", verdict.Unknown)}, want: Unknown,
			failures: []Failure{{Test: "A", Kind: KindSubtests}, {Test: "A/b", Kind: KindSubtests}, {Test: "A/b/c", Kind: KindUnknown}},
		},
		{
			name: "another test's record does not explain", events: "run:A fail:A run:B fail:B FAIL fail",
			records: []artifacts.Record{failed}, want: TestFailure,
			failures: []Failure{{Test: "A", Kind: KindRegression}, {Test: "B", Kind: KindOther}},
		},
		{
			name: "another package's record does not explain", events: "run:A fail:A FAIL fail",
			records: []artifacts.Record{record("q", "A", verdict.Fail)}, want: TestFailure,
			failures: []Failure{{Test: "A", Kind: KindOther}},
		},
		{
			name: "crash", events: "run:A run:B fail:A fail", records: []artifacts.Record{failed}, want: TestFailure,
			failures: []Failure{{Test: "A", Kind: KindRegression}, {Test: "", Kind: KindOther}},
		},
		{
			name: "a process that ends with status 0 in a test", events: "run:A pass:A run:B pass:B", records: []artifacts.Record{pass},
			want: TestFailure, failures: []Failure{{Test: "", Kind: KindOther}},
		},
		{
			name: "TestMain", events: "run:A pass:A PASS fail", records: []artifacts.Record{pass, record("p", "TestMain", verdict.Unknown)},
			want: Unknown, failures: []Failure{{Test: "", Kind: KindUnknown}},
		},
		{
			name: "TestMain for other reasons", events: "run:A pass:A PASS fail", records: []artifacts.Record{pass},
			want: TestFailure, failures: []Failure{{Test: "", Kind: KindOther}},
		},
		{
			name: "misuse comes before all but a build error", events: "run:A fail:A run:B fail:B FAIL fail",
			records: []artifacts.Record{failed, misused}, want: Misuse,
			failures: []Failure{{Test: "A", Kind: KindMisuse}, {Test: "B", Kind: KindOther}},
		},
		{name: "build error and misuse", events: "build", records: []artifacts.Record{misused}, want: BuildError},
		{name: "build", events: "build", records: []artifacts.Record{failed}, want: BuildError},
		{name: "build told in text only", events: "start text-build fail", want: BuildError},
		{name: "nothing ran and go test failed", events: "", want: BuildError},
		{
			name: "with -count the worst run stands", events: "run:A fail:A run:A pass:A FAIL fail", records: []artifacts.Record{failed, pass},
			want: Regression, failures: []Failure{{Test: "A", Kind: KindRegression}},
		},
		{
			name: "fail in a passed test", events: "run:A pass:A PASS pass", records: []artifacts.Record{failed}, want: Regression,
		},
		{
			name: "a problem", events: "run:A pass:A PASS pass", records: []artifacts.Record{pass}, problems: []string{"torn"}, want: Unknown,
		},
		{name: "interrupted", events: "run:A pass:A run:B ^C fail:B fail", records: []artifacts.Record{pass}, want: Unknown},
		{
			name: "regression, then interrupted", events: "run:A fail:A run:B ^C fail:B fail", records: []artifacts.Record{failed},
			want: Regression, failures: []Failure{{Test: "A", Kind: KindRegression}},
		},
		{
			name: "other failure, then interrupted", events: "run:A fail:A run:B ^C fail:B fail", records: []artifacts.Record{pass},
			want: TestFailure, failures: []Failure{{Test: "A", Kind: KindOther}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c Collector
			observe(&c, test.events)
			var run Run
			last := test.events[strings.LastIndexByte(test.events, ' ')+1:]
			c.Conclude(&run, Ending{
				Records: test.records, Problems: test.problems,
				GoFailed: !strings.HasPrefix(last, "pass") && last != "skip", Interrupted: strings.Contains(test.events, "^C"),
			})
			require.Equal(t, test.want, run.Outcome)
			require.Equal(t, ExitCode(test.want), run.ExitCode)
			for _, p := range run.Packages {
				if p.ImportPath == "p" {
					require.Equal(t, test.failures, p.Failures)
				}
			}
		})
	}
}

func TestIdle(t *testing.T) {
	for events, want := range map[string][]string{
		"start pass":                   {"p"}, // TestMain ended the process
		"start PASS pass":              nil,   // -run matches no test
		"start skip":                   nil,   // no test files
		"start fail":                   nil,
		"run:A pass:A PASS pass":       nil,
		"run:A pass:A run:B skip:B ok": nil,
	} {
		var c Collector
		observe(&c, events)
		require.Equal(t, want, c.Idle(), events)
	}
}

func TestConcludeOrdersAndCounts(t *testing.T) {
	var c Collector
	observe(&c, "run:Z run:A run:A/sub pass:A/sub fail:A pass:Z FAIL fail")
	at := func(test string, seq int, v verdict.Verdict) artifacts.Record {
		return artifacts.Record{Dir: "d", Result: verdict.Result{Package: "p_test", Test: test, Seq: seq, Verdict: v}}
	}
	var run Run
	c.Conclude(&run, Ending{GoFailed: true, Records: []artifacts.Record{
		at("TestMain", 1, verdict.Pass), at("A", 10, verdict.Unknown), at("A", 9, verdict.Fail), at("Z", 1, verdict.Pass),
	}})
	require.Len(t, run.Packages, 1, "an external test package's records belong to the package")
	var order []string
	for _, a := range run.Packages[0].Assertions {
		order = append(order, a.Test+string(rune('0'+a.Seq)))
	}
	require.Equal(t, []string{"Z1", "A9", "A:", "TestMain1"}, order)
	require.Equal(t, Totals{Packages: 1, Tests: 3, FailedTests: 1, Assertions: 4, Pass: 2, Fail: 1, Unknown: 1}, run.Totals)
}

// A test that leakgate ran itself counts like one of go test.
func TestRan(t *testing.T) {
	var c Collector
	c.Ran("p", "A", nil, false, time.Second)
	c.Ran("q", "B", []string{"one\n", "two\n"}, true, 2*time.Second)
	var run Run
	c.Conclude(&run, Ending{GoFailed: true, Records: []artifacts.Record{record("p", "A", verdict.Pass)}})
	require.Len(t, run.Packages, 2)
	passed, failed := run.Packages[0], run.Packages[1]
	require.Equal(t, StatusPass, passed.Status)
	require.Equal(t, []Case{{"A", StatusPass, 1}}, passed.Cases)
	require.False(t, passed.Crashed)
	require.Equal(t, StatusFail, failed.Status)
	require.Equal(t, []Failure{{Test: "B", Kind: KindOther, Output: "one\ntwo\n"}}, failed.Failures)
	require.Equal(t, 2.0, failed.ElapsedSeconds)
	require.Equal(t, TestFailure, run.Outcome)
}

// Where the kernel killed the test binary for lack of memory, the package has the limit. Another
// kill is none of that.
func TestLackOfMemory(t *testing.T) {
	for _, lack := range []string{"", "memory.max of the cgroup /app is 512 MiB"} {
		c := Collector{Lack: func() string { return lack }}
		observe(&c, "run:A")
		c.Observe(&gotest.Event{Action: "output", Package: "p", Test: "A", Output: killedLine}, false)
		observe(&c, "fail:A fail")
		var run Run
		c.Conclude(&run, Ending{GoFailed: true})
		require.Len(t, run.Packages, 1)
		require.True(t, run.Packages[0].Crashed)
		require.Equal(t, lack, run.Packages[0].Lack)
	}
}
