package present

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

func most(n int64) *int64 { return &n }

func run() *outcome.Run {
	totals := verdict.Totals{LiveBytes: 12 << 20, AttributedBytes: 10000, TypedBytes: 9999}
	return &outcome.Run{
		Outcome: outcome.TestFailure, ExitCode: 4, Problems: []string{"record x: torn"},
		Totals: outcome.Totals{Packages: 3, Tests: 5, FailedTests: 2, Assertions: 4, Pass: 2, Fail: 1, Unknown: 1},
		Packages: []*outcome.Package{
			{ImportPath: "example.com/app", Status: outcome.StatusFail, Failures: []outcome.Failure{{Test: "TestA", Kind: outcome.KindRegression}, {Test: "TestZ", Kind: outcome.KindOther}}, Assertions: []*outcome.Assertion{
				{Result: verdict.Result{
					Test: "TestA", Seq: 1, Verdict: verdict.Fail, Totals: totals, RetainedObjects: 1, RetainedBytes: 16, PauseNS: 1234567,
					Bounds: []verdict.Bound{{Selector: `Root("app.s")`, MaxObjects: most(0), Objects: 100, Verdict: verdict.Fail}},
				}},
				{Result: verdict.Result{
					Test: "TestA", Seq: 2, Verdict: verdict.Pass, Method: verdict.InFull, Totals: totals, RetainedObjects: 2000, RetainedBytes: 5000,
					Golden: &verdict.Golden{File: "testdata/leakcheck/TestA.golden", Status: "created"},
				}},
				{Result: verdict.Result{Test: "TestLongerName", Verdict: verdict.Unknown, Cause: "no snapshot", Remedy: "allow clone"}},
			}},
			{ImportPath: "example.com/broken", Status: outcome.StatusBuildFailed},
			{ImportPath: "example.com/crash", Status: outcome.StatusFail, Crashed: true, Failures: []outcome.Failure{{Kind: outcome.KindOther}}},
		},
	}
}

func TestSummary(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Summary{Artifacts: "out"}.Present(&b, run()))
	require.Equal(t, `
could not tell: example.com/app.TestLongerName: no snapshot
  allow clone

golden created: example.com/app testdata/leakcheck/TestA.golden

failed for other reasons: example.com/app.TestZ
did not build: example.com/broken
failed for other reasons: example.com/crash: its test binary ended before its tests did

problem: record x: torn

  TEST            VERDICT  LIVE      RETAINED  OBJECTS  WORST BOUND
example.com/app
  TestA #1        fail     12.0 MiB  16 B      1        Root("app.s") 100 objects, none allowed
  TestA #2        pass     12.0 MiB  4.9 KiB   2000     in full: golden created
  TestLongerName  unknown  -         -         -        -

4 assertions in 3 packages: 2 pass, 1 fail, 1 unknown; 5 tests, 2 failed
artifacts: out
leakgate: tests failed for other reasons (exit 4)
`, b.String())
	b.Reset()
	killed := run()
	killed.Packages[len(killed.Packages)-1].Lack = "memory.max of the cgroup /app is 512 MiB"
	require.NoError(t, Summary{}.Present(&b, killed))
	require.Contains(t, b.String(), "example.com/crash: its test binary was killed by the kernel for lack of memory (memory.max of the cgroup /app is 512 MiB)\n")
	b.Reset()
	require.NoError(t, Summary{Verbose: true}.Present(&b, run()))
	require.Contains(t, b.String(), `
  TEST            VERDICT  BEFORE  LIVE      RETAINED  OBJECTS  TYPED   PAUSE   PASSED   WORST BOUND
example.com/app
  TestA #1        fail     -       12.0 MiB  16 B      1        99.9 %  1.2 ms  -        Root("app.s") 100 objects, none allowed
`)
}

// A table fits into 100 columns: a long name has a line of its own, and the last column is cut.
func TestTableFitsIntoATerminal(t *testing.T) {
	r := run()
	long := "TestServer/with_a_name_that_says_everything_about_it"
	r.Packages[0].Assertions[0].Test = long
	r.Packages[0].Assertions[0].Bounds[0].Selector = `Root("` + strings.Repeat("ü", 90) + `")`
	var b strings.Builder
	require.NoError(t, Summary{}.Present(&b, r))
	require.Contains(t, b.String(), "\n  "+long+"\n                  fail     12.0 MiB  16 B      1        Root(\"üü")
	cut := 0
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		require.LessOrEqual(t, utf8.RuneCountInString(line), 100, line)
		if strings.HasSuffix(line, "…") {
			cut++
			require.Equal(t, 100, utf8.RuneCountInString(line), "as much as there is room for")
		}
	}
	require.Equal(t, 1, cut)
	b.Reset()
	require.NoError(t, Summary{Verbose: true}.Present(&b, r))
	require.NotContains(t, b.String(), "…")
}

// The table gives growth as a rate, too: the number of objects depends on how often op was called.
func TestWorstBoundOfGrowth(t *testing.T) {
	none := int64(0)
	a := &outcome.Assertion{Result: verdict.Result{Verdict: verdict.Fail, Bounds: []verdict.Bound{
		{Selector: "AssertNoGrowth: app.s[*]", MaxObjects: &none, Objects: 3750, Verdict: verdict.Fail, Growth: "+1.00 *app.S/op (+64 B/op)"},
		{Selector: "AssertNoGrowth: app.q[*]", MaxObjects: &none, Objects: 10, Verdict: verdict.Fail, Growth: "+0.01 *app.S/op (+1 B/op)"},
	}}}
	require.Equal(t, "AssertNoGrowth: app.s[*] +1.00 *app.S/op (+64 B/op)", worstBound(a))
	a.Bounds = []verdict.Bound{{Selector: `Root("app.s")`, MaxObjects: &none, Objects: 1, Verdict: verdict.Fail}}
	require.Equal(t, `Root("app.s") 1 object, none allowed`, worstBound(a))
}

// Each leak is listed once, up to maxLeaks of them. Other findings are not listed.
func TestSummaryListsLeaks(t *testing.T) {
	r := run()
	a, b := r.Packages[0].Assertions[0], r.Packages[0].Assertions[1]
	leak := outcome.Finding{Rule: outcome.RuleGrowth, Fingerprint: "402fc4d0d8cd671a18cb7d0be11f85b5", Text: "AssertNoGrowth: app.s[*]: +1.00 *app.S/op (+64 B/op)"}
	a.Findings, b.Findings = []outcome.Finding{leak, {Rule: outcome.RuleMisuse, Fingerprint: "m"}}, []outcome.Finding{leak}
	var out strings.Builder
	require.NoError(t, Summary{}.Present(&out, r))
	require.Equal(t, 1, strings.Count(out.String(), "\nleak 402fc4d0d8cd: AssertNoGrowth: app.s[*]: +1.00 *app.S/op (+64 B/op); seen by example.com/app.TestA\n"), out.String())
	require.Contains(t, out.String(), "\nleakgate: tests failed for other reasons; 1 leak: 402fc4d0d8cd (exit 4)\n")
	b.Test = "TestB"
	out.Reset()
	require.NoError(t, Summary{}.Present(&out, r))
	require.Contains(t, out.String(), "; seen by example.com/app.TestA and 1 other test\n")
	require.Equal(t, 1, strings.Count(out.String(), "\nleak "))

	for i := range 30 {
		leak.Fingerprint = fmt.Sprintf("%032x", i)
		b.Findings = append(b.Findings, leak)
	}
	out.Reset()
	require.NoError(t, Summary{}.Present(&out, r))
	require.Equal(t, 20, strings.Count(out.String(), "\nleak "))
	require.Contains(t, out.String(), "\nand 11 leaks more\n")
}

func TestSummaryColoursVerdictsOnly(t *testing.T) {
	var plain, colored strings.Builder
	require.NoError(t, Summary{}.Present(&plain, run()))
	require.NoError(t, Summary{Color: true}.Present(&colored, run()))
	require.Contains(t, colored.String(), "\x1b[32mpass    \x1b[0m")
	require.Contains(t, colored.String(), "\x1b[31munknown \x1b[0m")
	stripped := strings.NewReplacer("\x1b[32m", "", "\x1b[31m", "", "\x1b[0m", "").Replace(colored.String())
	require.Equal(t, plain.String(), stripped)
}

func TestJSONReadsBack(t *testing.T) {
	var b strings.Builder
	require.NoError(t, JSON{}.Present(&b, run()))
	var got outcome.Run
	require.NoError(t, json.Unmarshal([]byte(b.String()), &got))
	require.Equal(t, run(), &got)
}

func TestWorstBound(t *testing.T) {
	for want, a := range map[string]verdict.Result{
		"-":               {},
		"golden mismatch": {Golden: &verdict.Golden{Status: "mismatch"}},
		"a 9 objects, at most 10 objects": {Bounds: []verdict.Bound{
			{Selector: "a", MaxObjects: most(10), Objects: 9, Verdict: verdict.Pass},
			{Selector: "b", MaxBytes: most(100), Bytes: 80, Verdict: verdict.Pass},
			{Selector: "c", MaxObjects: most(0), Verdict: verdict.Pass},
		}},
		"b 11.0 KiB, at most 10.0 KiB": {Bounds: []verdict.Bound{
			{Selector: "a", MaxObjects: most(10), Objects: 10, Verdict: verdict.Pass},
			{Selector: "b", MaxObjects: most(5), Objects: 5, MaxBytes: most(10 << 10), Bytes: 11 << 10, Verdict: verdict.Fail},
		}},
		"b 664 B retained, at most 10 B retained": {Bounds: []verdict.Bound{
			{Selector: "a", MaxRetainedObjects: most(3), RetainedObjects: 3, Verdict: verdict.Pass},
			{Selector: "b", MaxRetainedObjects: most(2), RetainedObjects: 1, MaxRetainedBytes: most(10), RetainedBytes: 664, Verdict: verdict.Fail},
		}},
		"a 3 retained objects, at most 3 retained objects": {Bounds: []verdict.Bound{
			{Selector: "a", MaxRetainedObjects: most(3), RetainedObjects: 3, Verdict: verdict.Pass},
		}},
		"a 4 objects, at most 10 objects; also leads to 1,002 objects, 89.2 KiB that app.srv is nearer to": {Bounds: []verdict.Bound{
			{Selector: "a", MaxObjects: most(10), Objects: 4, Beyond: "1,002 objects, 89.2 KiB that app.srv is nearer to"},
		}},
		"b 2 objects, none allowed": {Bounds: []verdict.Bound{
			{Selector: "a", MaxObjects: most(1), Objects: 1000, Verdict: verdict.Fail},
			{Selector: "b", MaxObjects: most(0), Objects: 2, Verdict: verdict.Fail},
		}},
	} {
		require.Equal(t, want, worstBound(&outcome.Assertion{Result: a}))
	}
}

func TestFigures(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 5 << 30: "5.0 GiB", 3 << 40: "3.0 TiB", -2048: "-2.0 KiB",
	} {
		require.Equal(t, want, Bytes(n))
	}
	require.Equal(t, "100.0 %", percentText(7, 7))
	require.Equal(t, "99.9 %", percentText(1<<40-1, 1<<40), "only all of it is 100 %")
	require.Equal(t, "-", percentText(0, 0))
}
