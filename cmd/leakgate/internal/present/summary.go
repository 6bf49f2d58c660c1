package present

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
)

// Summary writes, for people, what went wrong, a table of the assertions, and last one line with
// the outcome.
type Summary struct {
	Artifacts string // the artifacts directory, as the user knows it; "": there is none
	Page      string // the page that shows the run; "": there is none
	Color     bool
	Verbose   bool // all columns of the table, and its cells whole
}

// Present implements Presenter.
func (s Summary) Present(w io.Writer, run *outcome.Run) error {
	var b strings.Builder
	if run.Coverage != "" {
		fmt.Fprintf(&b, "\n%s\n", run.Coverage)
	}
	s.leaks(&b, run)
	s.undecided(&b, run)
	s.misused(&b, run)
	s.goldens(&b, run)
	s.failures(&b, run)
	s.problems(&b, run)
	s.table(&b, run)
	fmt.Fprintf(&b, "\n%s\n", s.totals(run))
	if s.Artifacts != "" {
		fmt.Fprintf(&b, "artifacts: %s\n", s.Artifacts)
	}
	if s.Page != "" && run.Totals.Assertions > 0 {
		fmt.Fprintf(&b, "page: %s\n", s.Page)
	}
	fmt.Fprintf(&b, "leakgate: %s (exit %d)\n", s.paint(run.Outcome == outcome.Pass, outcomeText(run)), run.ExitCode)
	_, err := io.WriteString(w, b.String())
	return err
}

// maxLeaks is how many leaks are listed.
const maxLeaks = 20

// A leak is a finding, and the tests that saw it.
type leak struct {
	outcome.Finding
	tests []string
}

// leaksOf returns each leak that the base does not have once.
func leaksOf(run *outcome.Run) []*leak {
	var all []*leak
	at := make(map[string]*leak) // by fingerprint
	each(run, func(p *outcome.Package, a *outcome.Assertion) {
		test := nameOf(p, a.Test)
		for _, f := range a.Findings {
			if a.Known || !f.IsLeak() {
				continue
			}
			l := at[f.Fingerprint]
			if l == nil {
				l = &leak{Finding: f}
				at[f.Fingerprint], all = l, append(all, l)
			}
			if !slices.Contains(l.tests, test) {
				l.tests = append(l.tests, test)
			}
		}
	})
	return all
}

// leaks lists the leaks with the beginning of the fingerprint, by which users find a leak again in
// leakgate.json, in SARIF and in a tracker, and the tests that saw it.
func (s Summary) leaks(b *strings.Builder, run *outcome.Run) {
	all := leaksOf(run)
	for i, l := range all {
		if i == maxLeaks {
			fmt.Fprintf(b, "and %s more\n", Plural(len(all)-i, "leak"))
			break
		}
		if i == 0 {
			b.WriteString("\n")
		}
		others := ""
		if n := len(l.tests) - 1; n > 0 {
			others = " and " + Plural(n, "other test")
		}
		fmt.Fprintf(b, "%s %s: %s; seen by %s%s\n", l.Noun(), l.ShortFingerprint(), l.Text, l.tests[0], others)
	}
}

// nameOf returns the name of a test, or of its package, on one line: another machine may have
// written it.
func nameOf(p *outcome.Package, test string) string {
	return cli.PlainLine(strings.TrimSuffix(p.ImportPath+"."+test, "."))
}

// undecided writes why assertions could not tell, and the way out.
func (s Summary) undecided(b *strings.Builder, run *outcome.Run) {
	each(run, func(p *outcome.Package, a *outcome.Assertion) {
		if a.Verdict != verdict.Unknown {
			return
		}
		fmt.Fprintf(b, "\ncould not tell: %s: %s\n", nameOf(p, a.Test), cmp.Or(a.Cause, "no cause given"))
		if a.Remedy != "" {
			fmt.Fprintf(b, "  %s\n", a.Remedy)
		}
	})
}

// misused writes which assertions are wrong themselves.
func (s Summary) misused(b *strings.Builder, run *outcome.Run) {
	first := "\n"
	each(run, func(p *outcome.Package, a *outcome.Assertion) {
		if !a.Misuse {
			return
		}
		fmt.Fprintf(b, "%swrong assertion: %s: %s\n", first, nameOf(p, a.Test), strings.TrimPrefix(textfmt.FirstLine(a.Message), "leakcheck: "))
		first = ""
	})
}

// goldens writes which golden files the run wrote.
func (s Summary) goldens(b *strings.Builder, run *outcome.Run) {
	first := "\n"
	each(run, func(p *outcome.Package, a *outcome.Assertion) {
		if a.Golden == nil || a.Golden.Status != "created" && a.Golden.Status != "updated" {
			return
		}
		fmt.Fprintf(b, "%sgolden %s: %s %s%s\n", first, a.Golden.Status, nameOf(p, ""), cli.PlainLine(a.Golden.File), changesText(a.GoldenChanges))
		first = ""
		if a.Golden.Status == "created" {
			return
		}
		for i, c := range a.GoldenChanges {
			if i == maxChanges {
				fmt.Fprintf(b, "  and %d more\n", len(a.GoldenChanges)-i)
				break
			}
			fmt.Fprintf(b, "  %s\n", c.Text)
		}
	})
}

// maxChanges is how many changes of one golden file are shown.
const maxChanges = 20

// changesText counts changes by their kind: " (2 widened, 1 tightened)".
func changesText(changes []outcome.GoldenChange) string {
	count := make(map[string]int)
	for _, c := range changes {
		count[c.Kind]++
	}
	var parts []string
	for _, kind := range []string{"added", "widened", "tightened", "removed"} {
		if count[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[kind], kind))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// failures writes what failed for other reasons than what it retains. The output of these tests is
// further up.
func (s Summary) failures(b *strings.Builder, run *outcome.Run) {
	first := "\n"
	line := func(format string, args ...any) {
		fmt.Fprintf(b, first+format+"\n", args...)
		first = ""
	}
	for _, p := range run.Packages {
		if p.Status == outcome.StatusBuildFailed {
			line("did not build: %s", nameOf(p, ""))
		}
		for _, f := range p.Failures {
			switch {
			case f.Kind != outcome.KindOther:
			case f.Test != "":
				line("failed for other reasons: %s", nameOf(p, f.Test))
			case p.Crashed:
				line("failed for other reasons: %s: %s", nameOf(p, ""), crash("its", p))
			default:
				line("failed for other reasons: %s: its test binary failed though its tests passed", nameOf(p, ""))
			}
		}
	}
}

// maxCut is how many tests that did not end are named.
const maxCut = 3

// crash says how a test binary did not reach its end, and in which tests. article is "its" or
// "the".
func crash(article string, p *outcome.Package) string {
	text := article + " test binary ended before its tests did"
	if p.Status != outcome.StatusFail { // go test says ok
		text = article + " test binary ended with status 0 before its tests did, or a test closed its standard output"
	}
	if p.Lack != "" {
		text = article + " test binary was killed by the kernel for lack of memory (" + p.Lack + ")"
	}
	var cut []string
	for _, c := range p.Cases {
		if c.Status == outcome.StatusNone {
			cut = append(cut, c.Test)
		}
	}
	if len(cut) > 0 {
		text += fmt.Sprintf(" (%s did not end)", textfmt.EnumerateFirst(cut, maxCut))
	}
	return text
}

func (s Summary) problems(b *strings.Builder, run *outcome.Run) {
	first := "\n"
	for _, text := range run.Problems {
		fmt.Fprintf(b, "%sproblem: %s\n", first, text)
		first = ""
	}
	for _, text := range run.Notes {
		fmt.Fprintf(b, "%snote: %s\n", first, text)
		first = ""
	}
}

func (s Summary) totals(run *outcome.Run) string {
	t := run.Totals
	text := fmt.Sprintf("%s in %s: %d pass, %d fail, %d unknown",
		Plural(t.Assertions, "assertion"), Plural(t.Packages, "package"), t.Pass, t.Fail, t.Unknown)
	if t.Known > 0 {
		text = strings.Replace(text, " fail,", fmt.Sprintf(" fail (%d known),", t.Known), 1)
	}
	return text + fmt.Sprintf("; %s, %d failed", Plural(t.Tests, "test"), t.FailedTests)
}

// outcomeText describes the outcome in words, with the leaks where it has another name, and says if
// the run was interrupted.
func outcomeText(run *outcome.Run) string {
	text := map[outcome.Outcome]string{
		outcome.Pass:        "pass",
		outcome.Regression:  "retention regression",
		outcome.BuildError:  "build error",
		outcome.Misuse:      "an assertion is wrong",
		outcome.Nothing:     "nothing to check: no leakcheck assertion ran",
		outcome.Unknown:     "could not tell",
		outcome.TestFailure: "tests failed for other reasons",
	}[run.Outcome]
	if run.Outcome == outcome.Regression && onlyAllocations(run) {
		text = "allocation regression"
	}
	if run.Partial != "" {
		text = run.Partial + ": " + text
	}
	if run.Interrupted {
		text += ", interrupted"
	}
	if all := leaksOf(run); len(all) > 0 && run.Outcome != outcome.Regression {
		var names []string
		for _, l := range all {
			names = append(names, l.ShortFingerprint())
		}
		text += fmt.Sprintf("; %s: %s", Plural(len(all), "leak"), textfmt.EnumerateFirst(names, maxCut))
	}
	return text
}

// onlyAllocations reports whether there are findings, and all are of RuleAllocs.
func onlyAllocations(run *outcome.Run) bool {
	only, any := true, false
	each(run, func(_ *outcome.Package, a *outcome.Assertion) {
		for _, f := range a.Findings {
			only, any = only && f.Rule == outcome.RuleAllocs, true
		}
	})
	return only && any
}

func (s Summary) paint(good bool, text string) string {
	switch {
	case !s.Color:
		return text
	case good:
		return "\x1b[32m" + text + "\x1b[0m"
	default:
		return "\x1b[31m" + text + "\x1b[0m"
	}
}

func each(run *outcome.Run, f func(*outcome.Package, *outcome.Assertion)) {
	for _, p := range run.Packages {
		for _, a := range p.Assertions {
			f(p, a)
		}
	}
}
