package outcome

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/verdict"
)

func findingsOf(a verdict.Result) []Finding {
	there := map[string]bool{"app/store.go": true, "app/app_test.go": true}
	s := Sources{Exists: func(file string) bool { return there[file] }}
	a.File, a.Line = "app_test.go", 30
	return s.findings(&Package{ImportPath: "example.com/app", Dir: "app"}, &Assertion{Result: a})
}

func TestFindings(t *testing.T) {
	none, ten := int64(0), int64(10)
	sessions := verdict.Bound{
		Kind: verdict.Retained, Selector: `Root("app.sessions").None()`, MaxObjects: &none, Objects: 7, Bytes: 700, Verdict: verdict.Fail,
		Path: "example.com/app.sessions[*].buf", Type: "[]uint8", File: "store.go", Line: 12,
	}
	elsewhere := sessions
	elsewhere.Kind = verdict.Growth
	elsewhere.File, elsewhere.Selector, elsewhere.MaxObjects, elsewhere.MaxBytes = "github.com/x/y@v1.0.0/y.go", "AssertNoGrowth: example.com/app.sessions", nil, &ten
	kept := sessions
	kept.Verdict = verdict.Pass

	found := findingsOf(verdict.Result{Verdict: verdict.Fail, Bounds: []verdict.Bound{kept, sessions, elsewhere}})
	require.Len(t, found, 2)
	require.Equal(t, Finding{
		Rule: RuleBound, Fingerprint: found[0].Fingerprint, Selector: sessions.Selector, Path: sessions.Path, Type: "[]uint8",
		Text:    `Root("app.sessions").None(): 7 objects, none allowed (most at example.com/app.sessions[*].buf)`,
		Objects: 7, Bytes: 700, MaxObjects: &none, File: "app/store.go", Line: 12, Declared: true,
	}, found[0])
	require.Equal(t, RuleGrowth, found[1].Rule)
	require.Equal(t, "AssertNoGrowth: example.com/app.sessions: 700 bytes, at most 10 allowed (most at example.com/app.sessions[*].buf)", found[1].Text)
	require.Equal(t, "app/app_test.go:30", found[1].File+":"+"30", "not in the repository: the assertion's place")
	require.False(t, found[1].Declared)
	require.NotEqual(t, found[0].Fingerprint, found[1].Fingerprint)

	one := sessions
	one.Objects, one.Bytes, one.MaxBytes = 1, 1, &none
	grows := sessions
	grows.Kind = verdict.Growth
	grows.Selector, grows.Growth = "AssertNoGrowth: example.com/app.sessions[*]", "+1.00 *app.Session/op (+100 B/op)"
	alive := sessions
	alive.Kind = verdict.Collected
	alive.Selector, alive.Objects = "ExpectCollected: *app.Session", 1
	found = findingsOf(verdict.Result{Verdict: verdict.Fail, Bounds: []verdict.Bound{one, grows, alive}})
	require.Equal(t, `Root("app.sessions").None(): 1 object, none allowed; 1 byte, none allowed (most at example.com/app.sessions[*].buf)`, found[0].Text)
	require.Equal(t, RuleGrowth, found[1].Rule)
	require.Equal(t, "AssertNoGrowth: example.com/app.sessions[*]: +1.00 *app.Session/op (+100 B/op)", found[1].Text, "a rate, whatever the number of calls")
	require.Equal(t, RuleCollected, found[2].Rule)
	require.Equal(t, "ExpectCollected: *app.Session is still reachable via example.com/app.sessions[*].buf", found[2].Text)
	require.Equal(t, found[0].Fingerprint, found[2].Fingerprint, "fingerprints are older than the rule")
	require.True(t, found[1].IsLeak() && found[2].IsLeak())

	most := int64(1)
	allocs := verdict.Bound{Kind: verdict.Allocs, Selector: "AssertAllocs: AllAllocs()", Verdict: verdict.Fail, MaxObjects: &most, Objects: 2, Growth: "2.00 allocs/op (96 B/op), at most 1 allowed"}
	found = findingsOf(verdict.Result{Verdict: verdict.Fail, Test: "TestA", Bounds: []verdict.Bound{allocs}})
	require.Equal(t, RuleAllocs, found[0].Rule)
	require.Equal(t, "AssertAllocs: AllAllocs(): 2.00 allocs/op (96 B/op), at most 1 allowed", found[0].Text)
	other := findingsOf(verdict.Result{Verdict: verdict.Fail, Test: "TestB", Bounds: []verdict.Bound{allocs}})
	require.NotEqual(t, found[0].Fingerprint, other[0].Fingerprint, "another test's operation is another finding")

	golden := &verdict.Golden{Status: "mismatch", Broken: []verdict.Bound{sessions}}
	require.Equal(t, RuleGolden, findingsOf(verdict.Result{Verdict: verdict.Fail, Golden: golden})[0].Rule)
	missing := &verdict.Golden{Status: "missing"}
	for rule, a := range map[Rule]verdict.Result{
		RuleMissingGolden: {Verdict: verdict.Fail, Golden: missing, Message: "first\nsecond"},
		RuleMisuse:        {Verdict: verdict.Fail, Misuse: true, Message: "first\nsecond"},
		RuleRetained:      {Verdict: verdict.Fail, Message: "first"},
		RuleUnknown:       {Verdict: verdict.Unknown, Cause: "first", Bounds: []verdict.Bound{{Verdict: verdict.Unknown}}},
	} {
		found := findingsOf(a)
		require.Len(t, found, 1)
		require.Equal(t, rule, found[0].Rule)
		require.Equal(t, "first", strings.TrimPrefix(found[0].Text, "could not tell: "))
		require.Equal(t, 30, found[0].Line)
	}
	require.Empty(t, findingsOf(verdict.Result{Verdict: verdict.Pass, Bounds: []verdict.Bound{sessions}}))
}

// Users who close an alert rely on its fingerprint, so this one must never change.
func TestFingerprintIsStable(t *testing.T) {
	f := func(path string) string { return fingerprint("bound", path, "*app.Session") }
	require.Equal(t, "9701a1cc62c3ec89c7410260bd38a582", f("example.com/app.sessions[*]"))
	require.Equal(t, f("example.com/app.serve.func1.conn"), f("example.com/app.serve.func2.1.conn"), "closures' numbers do not count")
	require.Equal(t, f("example.com/app.(*Cache[...]).run.c"), f("example.com/app.(*Cache[go.shape.string,go.shape.[]uint8]).run.c"), "nor do shapes")
	require.NotEqual(t, f("example.com/app.a"), f("example.com/app.b"))
	require.NotEqual(t, fingerprint("bound", "a", "bc"), fingerprint("bound", "ab", "c"))
}

func TestOutputTailKeepsBothEnds(t *testing.T) {
	var o outputTail
	o.add("first\n")
	o.add("second\n")
	require.Equal(t, "first\nsecond\n", o.String())
	for range 10000 {
		o.add("a line of thirty bytes or more\n")
	}
	o.add("last\n")
	text := o.String()
	require.LessOrEqual(t, len(text), 2*maxOutput)
	require.True(t, strings.HasPrefix(text, "first\n") && strings.HasSuffix(text, "last\n"))
	require.Regexp(t, `\n\.\.\. \d+ bytes left out \.\.\.\na line of`, text)
}

// The tests of examples find the leaks of the corpus with the paths and types in this file, in all
// builds.
func TestFingerprintsOfCorpus(t *testing.T) {
	content, err := os.ReadFile(filepath.FromSlash("../../../../examples/corpus/testdata/fingerprints.txt"))
	require.NoError(t, err)
	leaks := 0
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, parts, 4, line)
		require.Equal(t, parts[1], fingerprint(string(RuleGrowth), parts[2], parts[3]), parts[0])
		leaks++
	}
	require.GreaterOrEqual(t, leaks, 20)
}
