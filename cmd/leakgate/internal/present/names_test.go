package present

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// hostile is a run whose names another machine has made up: one line of them may not become two,
// and a terminal may not find a command in it.
func hostile() *outcome.Run {
	const name = "\x1b]0;title\x07\n::add-mask::x\r\nT"
	assertion := func(v verdict.Verdict, misuse bool, f ...outcome.Finding) *outcome.Assertion {
		return &outcome.Assertion{Result: verdict.Result{Test: name, Seq: 1, Verdict: v, Misuse: misuse}, Findings: f}
	}
	p := &outcome.Package{ImportPath: "p\n\x1b[2J", Failures: []outcome.Failure{{Test: name, Kind: outcome.KindOther}}, Status: outcome.StatusBuildFailed}
	p.Assertions = []*outcome.Assertion{
		assertion(verdict.Fail, false, outcome.Finding{Rule: outcome.RuleBound, Fingerprint: strings.Repeat("a", 32), Text: "a\x07\nb%", File: "\x1bf\n.go"}),
		assertion(verdict.Unknown, false), assertion(verdict.Fail, true),
	}
	return &outcome.Run{Outcome: outcome.Regression, Packages: []*outcome.Package{p}, Totals: outcome.Totals{Assertions: 3}, Problems: []string{"\u202e\x1bx"}}
}

func TestAnnotationsEscapeNames(t *testing.T) {
	const title = `p\x0a\x1b[2J.\x1b]0;title\x07\x0a%3A%3Aadd-mask%3A%3Ax\x0d\x0aT`
	require.Equal(t, `::error file=\x1bf\x0a.go,line=1,title=`+title+`::a\x07%0Ab%25
::error title=p\x0a\x1b[2J::the package does not build
::error title=`+title+`::failed for other reasons than what it retains
::warning title=leakgate::\u202e\x1bx
`, present(t, Annotations{}, hostile()))
}

func TestSummaryKeepsNamesOnALine(t *testing.T) {
	const name = `\x1b]0;title\x07\x0a::add-mask::x\x0d\x0aT`
	for _, s := range []Summary{{}, {Verbose: true}} {
		text := present(t, s, hostile())
		require.Contains(t, text, `; seen by p\x0a\x1b[2J.`+name+"\n")
		require.Contains(t, text, "\ncould not tell: p\\x0a\\x1b[2J."+name+": no cause given\n")
		require.Contains(t, text, "\nwrong assertion: p\\x0a\\x1b[2J."+name+": ")
		require.Contains(t, text, "\ndid not build: p\\x0a\\x1b[2J\n")
		require.Contains(t, text, "\nfailed for other reasons: p\\x0a\\x1b[2J."+name+"\n")
		require.Contains(t, text, "\np\\x0a\\x1b[2J\n  ", "the section of the table")
		require.Contains(t, text, "\n  "+name+" #1", "its row")
		require.NotContains(t, text, "\r")
	}
}

func TestComparisonKeepsNamesOnALine(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Comparison(&b, []compare.Row{{Group: "g\nh", Name: "a\tb\n::c"}}, 1, "test"))
	require.Contains(t, b.String(), "\ng\\x0ah\n  a\\x09b\\x0a::c  ")
}
