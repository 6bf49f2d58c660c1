package present

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/joshdk/go-junit"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// everything returns a run with each kind of failure and problem.
func everything() *outcome.Run {
	bound := func(path, file string, declared bool) outcome.Finding {
		return outcome.Finding{
			Rule: outcome.RuleBound, Fingerprint: fmt.Sprintf("%032x", len(path)), Text: path + ": 7 objects, none allowed",
			Path: path, Type: "*app.S", Objects: 7, File: file, Line: 12, Declared: declared,
		}
	}
	assertion := func(test string, v verdict.Verdict, findings ...outcome.Finding) *outcome.Assertion {
		return &outcome.Assertion{
			Result:   verdict.Result{Test: test, Seq: 1, Verdict: v, File: "app_test.go", Line: 30, Message: "leakcheck: <too much>\n\x1b[31m└─ ]]> & \xff\n"},
			Findings: findings,
		}
	}
	misused := assertion("TestMisused", verdict.Fail, outcome.Finding{Rule: outcome.RuleMisuse, Fingerprint: strings.Repeat("a", 32), Text: "no such root", File: "app/app_test.go", Line: 30})
	misused.Misuse = true
	before := assertion("TestPass", verdict.Pass)
	before.LiveBefore, before.Totals.LiveBytes = 1<<20, 2<<20
	return &outcome.Run{
		Leakgate: "v1.2.3", Outcome: outcome.BuildError, ExitCode: 2, ElapsedSeconds: 1.5, Problems: []string{"record x: torn"}, Notes: []string{"a note"},
		Totals: outcome.Totals{Packages: 3, BuildErrors: 1, Tests: 8, FailedTests: 5, Assertions: 6, Pass: 1, Fail: 4, Misused: 1, Unknown: 1},
		Packages: []*outcome.Package{
			{
				ImportPath: "example.com/app", Dir: "app", Status: outcome.StatusFail, ElapsedSeconds: 1.25, Crashed: true,
				Cases: []outcome.Case{
					{Test: "TestPass", Status: outcome.StatusPass, ElapsedSeconds: 0.5},
					{Test: "TestLeak", Status: outcome.StatusFail},
					{Test: "TestLeakAgain", Status: outcome.StatusFail},
					{Test: "TestSwallowed", Status: outcome.StatusPass},
					{Test: "TestMisused", Status: outcome.StatusFail},
					{Test: "TestBlind", Status: outcome.StatusFail},
					{Test: "TestOther", Status: outcome.StatusFail},
					{Test: "TestOther/sub", Status: outcome.StatusFail},
					{Test: "TestSkip", Status: outcome.StatusSkip},
					{Test: "TestCut", Status: outcome.StatusNone},
				},
				Failures: []outcome.Failure{
					{Test: "TestLeak", Kind: outcome.KindRegression},
					{Test: "TestLeakAgain", Kind: outcome.KindRegression},
					{Test: "TestMisused", Kind: outcome.KindMisuse},
					{Test: "TestBlind", Kind: outcome.KindUnknown},
					{Test: "TestOther", Kind: outcome.KindSubtests},
					{Test: "TestOther/sub", Kind: outcome.KindOther, Output: "two and two ```` make five\n"},
					{Kind: outcome.KindOther, Output: "panic: out of order\n"},
				},
				Assertions: []*outcome.Assertion{
					before,
					assertion("TestLeak", verdict.Fail, bound("app.sessions[*]", "app/store file.go", true), bound("app.srv", "app/app_test.go", false)),
					assertion("TestLeakAgain", verdict.Fail, bound("app.sessions[*]", "app/store file.go", true)),
					assertion("TestSwallowed", verdict.Fail, bound("app.cache.lru", "", false)),
					misused,
					assertion("TestBlind", verdict.Unknown, outcome.Finding{Rule: outcome.RuleUnknown, Fingerprint: strings.Repeat("b", 32), Text: "could not tell: no fork", File: "app/app_test.go", Line: 30}),
				},
			},
			{ImportPath: "example.com/broken", Status: outcome.StatusBuildFailed},
			{
				ImportPath: "example.com/main", Status: outcome.StatusFail, Failures: []outcome.Failure{{Kind: outcome.KindRegression, Output: "x"}},
				Assertions: []*outcome.Assertion{assertion("TestMain", verdict.Fail, bound("app.x", "", false))},
			},
		},
	}
}

func present(t *testing.T, p Presenter, run *outcome.Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.Present(&b, run))
	return b.String()
}

// TestJUnit reads the XML back with the parser of another project. Against the schema of Jenkins'
// xunit plugin (junit-10.xsd) the same text was checked by hand; JUNIT_OUT=file writes it.
func TestJUnit(t *testing.T) {
	text := present(t, JUnit{}, everything())
	if file := os.Getenv("JUNIT_OUT"); file != "" {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	}
	suites, err := junit.Ingest([]byte(text))
	require.NoError(t, err)
	var got []string
	for _, s := range suites {
		for _, c := range s.Tests {
			line := fmt.Sprintf("%s %s %s", c.Classname, c.Name, c.Status)
			if e, ok := c.Error.(junit.Error); ok {
				line += " " + e.Type + ": " + e.Message
			}
			got = append(got, line)
		}
	}
	require.Equal(t, []string{
		"example.com/app TestPass passed",
		"example.com/app TestLeak failed bound: app.sessions[*]: 7 objects, none allowed; app.srv: 7 objects, none allowed",
		"example.com/app TestLeakAgain failed bound: app.sessions[*]: 7 objects, none allowed",
		"example.com/app TestSwallowed failed bound: app.cache.lru: 7 objects, none allowed",
		"example.com/app TestMisused error misuse: no such root",
		"example.com/app TestBlind error unknown: could not tell: no fork",
		"example.com/app TestOther failed subtests: subtests failed",
		"example.com/app TestOther/sub failed other: the test failed",
		"example.com/app TestSkip skipped",
		"example.com/app TestCut error did not end: the test did not end",
		"example.com/app TestMain error package: the test binary ended before its tests did (TestCut did not end)",
		"example.com/broken TestMain error build: the package does not build",
		"example.com/main TestMain failed bound: app.x: 7 objects, none allowed",
		"leakgate run error problem: record x: torn",
	}, got)
	require.Contains(t, text, "leakcheck: &lt;too much&gt;&#xA;?[31m└─ ]]&gt; &amp; ?&#xA;", "what XML cannot hold is replaced, the rest kept")

	// The counts match the cases.
	var all junitSuites
	require.NoError(t, xml.Unmarshal([]byte(text), &all))
	require.Equal(t, [3]int{14, 6, 6}, [3]int{all.Tests, all.Failures, all.Errors})
	require.Equal(t, [4]int{11, 5, 4, 1}, [4]int{all.Suites[0].Tests, all.Suites[0].Failures, all.Suites[0].Errors, all.Suites[0].Skipped})
	require.Equal(t, "1.250", all.Suites[0].Time)

	interrupted := everything()
	interrupted.Interrupted = true
	require.Contains(t, present(t, JUnit{}, interrupted), "interrupted: what was not run is missing")
	require.NotContains(t, present(t, JUnit{}, &outcome.Run{}), "<testsuite ")
}

// sarifSchema is the schema of OASIS, which go-sarif has in its source as a constant of its own.
var sarifSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(strings.TrimSpace(string(dir)), "pkg", "report", "v210", "sarif", "schema.go")
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return nil, err
	}
	value := source.Scope.Lookup("schema").Decl.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value
	text, err := strconv.Unquote(value)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("sarif.json")
})

func readSARIF(t *testing.T, text string) *sarif.Report {
	t.Helper()
	schema, err := sarifSchema()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(doc))
	require.Error(t, schema.Validate(map[string]any{"version": "2.1.0", "runs": []any{map[string]any{}}}), "the schema asks for a tool")
	var report sarif.Report
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	return &report
}

func TestSARIF(t *testing.T) {
	report := readSARIF(t, present(t, SARIF{}, everything()))
	require.Len(t, report.Runs, 1)
	run := report.Runs[0]
	require.Equal(t, "leakgate", *run.Tool.Driver.Name)
	require.Len(t, run.Results, 6, "the leak that two tests find is one result")
	for _, r := range run.Results {
		require.Equal(t, *r.RuleID, *run.Tool.Driver.Rules[r.RuleIndex].ID)
		require.NotEmpty(t, r.PartialFingerprints["leakgate/v1"])
	}
	leak := run.Results[0]
	require.Equal(t, "bound", *leak.RuleID)
	require.Equal(t, "error", leak.Level)
	require.Equal(t, "app.sessions[*]: 7 objects, none allowed\nfound by example.com/app.TestLeak", *leak.Message.Text)
	place := leak.Locations[0].PhysicalLocation
	require.Equal(t, "app/store%20file.go", *place.ArtifactLocation.URI)
	require.Equal(t, "%SRCROOT%", *place.ArtifactLocation.URIBaseID)
	require.Equal(t, 12, *place.Region.StartLine)
	require.Len(t, leak.RelatedLocations, 2)
	require.Equal(t, "app/app_test.go", *leak.RelatedLocations[0].PhysicalLocation.ArtifactLocation.URI)
	require.Equal(t, "found by example.com/app.TestLeakAgain", *leak.RelatedLocations[1].Message.Text)
	require.Equal(t, "app/app_test.go", *run.Results[1].Locations[0].PhysicalLocation.ArtifactLocation.URI)
	require.Equal(t, "warning", run.Results[4].Level)
	require.Equal(t, "record x: torn", *run.Invocations[0].ToolExecutionNotifications[0].Message.Text)

	require.Contains(t, present(t, SARIF{}, &outcome.Run{}), `"results": []`, "null would say that nothing was looked for")
	readSARIF(t, present(t, SARIF{}, &outcome.Run{}))
}

// An object that should be garbage has a rule of its own.
func TestSARIFOfCollected(t *testing.T) {
	run := everything()
	run.Packages[2].Assertions[0].Findings = []outcome.Finding{{
		Rule: outcome.RuleCollected, Fingerprint: strings.Repeat("c", 32), Text: "ExpectCollected: *app.S is still reachable via app.x",
	}}
	results := readSARIF(t, present(t, SARIF{}, run)).Runs[0]
	last := results.Results[len(results.Results)-1]
	require.Equal(t, "collected", *last.RuleID)
	require.Equal(t, "ReachableThoughDone", *results.Tool.Driver.Rules[last.RuleIndex].Name)
	require.Equal(t, "error", last.Level)
}

func TestSARIFKeepsToGitHubsLimit(t *testing.T) {
	run := everything()
	many := run.Packages[2].Assertions[0]
	many.Findings = nil
	for i := range maxSARIFResults + 10 {
		many.Findings = append(many.Findings, outcome.Finding{Rule: outcome.RuleGolden, Fingerprint: fmt.Sprintf("%032x", 1000+i), Text: "x"})
	}
	report := readSARIF(t, present(t, SARIF{}, run))
	require.Len(t, report.Runs[0].Results, maxSARIFResults)
	notes := report.Runs[0].Invocations[0].ToolExecutionNotifications
	require.Contains(t, *notes[len(notes)-1].Message.Text, "15 more results are left out")
}

func TestAnnotations(t *testing.T) {
	require.Equal(t, `::error file=app/store file.go,line=12,title=example.com/app.TestLeak::app.sessions[*]: 7 objects, none allowed
::error file=app/app_test.go,line=12,title=example.com/app.TestLeak::app.srv: 7 objects, none allowed
::error title=example.com/app.TestSwallowed::app.cache.lru: 7 objects, none allowed
::error file=app/app_test.go,line=30,title=example.com/app.TestMisused::no such root
::error title=example.com/main.TestMain::app.x: 7 objects, none allowed
::error title=example.com/app.TestOther/sub::failed for other reasons than what it retains
::error title=example.com/app::failed for other reasons than what it retains
::error title=example.com/broken::the package does not build
::warning file=app/app_test.go,line=30,title=example.com/app.TestBlind::could not tell: no fork
::warning title=leakgate::record x: torn
`, present(t, Annotations{}, everything()))

	run := &outcome.Run{Packages: []*outcome.Package{{ImportPath: "p"}}}
	for i := range 12 {
		run.Packages[0].Failures = append(run.Packages[0].Failures, outcome.Failure{Test: fmt.Sprintf("T%d,a:b%%", i), Kind: outcome.KindOther})
	}
	lines := strings.Split(strings.TrimSuffix(present(t, Annotations{}, run), "\n"), "\n")
	require.Len(t, lines, maxAnnotations)
	require.Equal(t, "::error title=p.T0%2Ca%3Ab%25::failed for other reasons than what it retains", lines[0])
	require.Equal(t, "::error title=leakgate::3 more are not shown here: see the step's summary", lines[9])
}

func TestMarkdown(t *testing.T) {
	text := present(t, Markdown{Size: CommentSize}, everything())
	require.True(t, strings.HasPrefix(text, Marker+"\n### ❌ leakgate: build error; 4 leaks: 000000000000, 000000000000, 000000000000 and 1 more\n\n6 assertions in 3 packages"), text)
	require.Contains(t, text, "#### fail: `example.com/app.TestLeak`\n\n- app.sessions\\[\\*]: 7 objects, none allowed — root declared at `app/store file.go:12` — leak `000000000000`\n")
	require.Contains(t, text, "\n`````text\ntwo and two ```` make five\n`````\n", "a fence longer than what is inside")
	require.Contains(t, text, "| example.com/app.TestPass | pass | 1.0 MiB | 2.0 MiB |")
	require.Contains(t, text, "> problem: record x: torn\n")
	require.NotContains(t, text, leftOut)
	require.Contains(t, present(t, Markdown{Size: CommentSize}, &outcome.Run{Outcome: outcome.Pass}), "✅ leakgate: pass")
}

func TestMarkdownKeepsToItsSize(t *testing.T) {
	run := everything()
	leak := run.Packages[0].Assertions[1]
	leak.Message = strings.Repeat("└─ a line of the message ```\n", 400)
	for range 300 {
		run.Packages[0].Assertions = append(run.Packages[0].Assertions, leak)
	}
	for _, size := range []int{SmallestPage, 2000, 10_000, CommentSize, StepSummarySize} {
		text := present(t, Markdown{Size: size}, run)
		require.LessOrEqual(t, len(text), size)
		require.True(t, utf8.ValidString(text))
		require.True(t, strings.HasSuffix(text, leftOut))
		require.Equal(t, strings.Count(text, "<details>"), strings.Count(text, "</details>"), "parts are whole")
	}
}

func TestSummaryOfEverything(t *testing.T) {
	text := present(t, Summary{Artifacts: "out"}, everything())
	require.Contains(t, text, "  TEST           VERDICT  LIVE     RETAINED  OBJECTS ")
	require.Contains(t, text, "  TestPass       pass     2.0 MiB  ")
	require.Contains(t, text, "\nwrong assertion: example.com/app.TestMisused: <too much>\n")
	require.Contains(t, text, "\nproblem: record x: torn\nnote: a note\n")
}

// Names and messages of tests stay text, even if they contain markup.
func TestMarkdownOfHostileNames(t *testing.T) {
	const hostile = "Test/a`b``c</details><script>alert(1)</script>\n# x|y [z](http://example.com) \\` @all"
	run := everything()
	for _, p := range run.Packages {
		for _, a := range p.Assertions {
			a.Test, a.Message = hostile, hostile+"\n```\n</details>"
			for i := range a.Findings {
				a.Findings[i].Text, a.Findings[i].File = hostile, hostile
			}
		}
		for i := range p.Failures {
			p.Failures[i].Test, p.Failures[i].Output = hostile, hostile
		}
	}
	run.Problems, run.Notes = []string{hostile}, []string{hostile}
	text := present(t, Markdown{Size: CommentSize}, run)
	inside := ""
	for line := range strings.Lines(text) {
		if fence := strings.TrimRight(line, "`tex\n"); fence == "" && strings.HasPrefix(line, "```") {
			if inside == "" {
				inside = strings.TrimSuffix(strings.TrimSpace(line), "text")
			} else if strings.TrimSpace(line) == inside {
				inside = ""
			}
			continue
		}
		if inside != "" {
			continue
		}
		rest := line
		if strings.Contains(line, "```Test") || strings.Contains(line, "```example") {
			before, code, _ := strings.Cut(line, "```")
			_, after, ok := strings.Cut(code, "```")
			require.True(t, ok, line)
			rest = before + after
		}
		require.NotContains(t, rest, "<script", line)
		require.NotContains(t, strings.TrimPrefix(rest, "</details>"), "</details>", line)
		require.NotContains(t, strings.ReplaceAll(rest, `\[`, ""), "[z](", line)
		require.NotContains(t, rest, "@all", line)
	}
	require.Empty(t, inside, "an open block")
	require.Equal(t, strings.Count(text, "<details>"), strings.Count(text, "\n</details>\n\n"))

	require.Equal(t, "`` a` ``", strings.ReplaceAll(markdownName("a`"), "  ", " "))
	require.Equal(t, "```a``b`c```", markdownName("a``b`c"))
	require.Equal(t, "\\\\\\`", markdownText("\\`"))
}

// GitHub Actions takes no line of a program for a command.
func TestStopCommands(t *testing.T) {
	var b strings.Builder
	resume := StopCommands(&b)
	b.WriteString("::error::from a program\n")
	resume()
	resume()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 3)
	token, ok := strings.CutPrefix(lines[0], "::stop-commands::")
	require.True(t, ok)
	require.GreaterOrEqual(t, len(token), 20)
	require.Equal(t, "::"+token+"::", lines[2])

	var other strings.Builder
	StopCommands(&other)()
	require.NotContains(t, other.String(), token)
}
