// Package message renders what was found, and who holds it, as text.
package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/check"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

const (
	MaxMessageLines = 60
	MaxTraced       = 2 // bounds or paths that are traced; the others get a line
	maxDiffLines    = 16
	maxWarnings     = 3
)

// An Input has the data that a message is rendered from.
type Input struct {
	Eval      *check.Evaluation
	Golden    *check.Comparison // nil: there are bounds
	Share     string            // which part of it the test has by itself, "" if nothing is to be said
	Body      []string          // replaces the text on Eval and Golden
	Snapshots int
	Update    string // the command that rewrites the golden file
	Profile   string // the file with all that is retained, "" if there is none
	CanHave   bool   // with other settings, Profile would be set
	Scanned   bool   // there is, or would be, a scan for Profile alone
}

// Render returns the lines of a message: what is retained that should not be, who holds it, and
// what can be done.
func Render(in Input, env *environ.Environment) []string {
	lines := in.Body
	switch {
	case lines != nil:
	case in.Golden != nil:
		lines = goldenFailure(in.Eval, in.Golden, env)
	default:
		lines = boundsFailure(in.Eval, env)
		if in.Share != "" {
			lines = append([]string{lines[0], in.Share}, lines[1:]...)
		}
	}
	lines = append(lines, "")
	for _, i := range in.Eval.Ignored {
		if !i.IsNothing() {
			lines = append(lines, "ignored: "+i.String())
		}
	}
	warnings := in.Eval.Report.Warnings
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		lines = append(lines, "warning: "+w)
	}
	if in.Snapshots > 1 {
		lines = append(lines, fmt.Sprintf("still so in the last of %d snapshots: waiting does not help", in.Snapshots))
	}
	if in.Golden != nil && env.Goldens == "" {
		if n := in.Golden.Renamed(); n > 0 {
			lines = append(lines, fmt.Sprintf("nothing is retained now at %s of the file, which had as many objects as are new: if a name has changed, "+
				"change it in the file, too, which keeps widened bounds and comments", textfmt.CountNoun(int64(n), "line")))
		}
		lines = append(lines, "to accept it: "+in.Update)
	}
	switch {
	case in.Eval.Names == nil && !in.Scanned: // without a scan there is no profile
	case in.Profile != "":
		lines = append(lines, "profile: go tool pprof -http=: "+in.Profile)
	case in.CanHave:
		lines = append(lines, "for a profile of all that is retained: go test -artifacts, or leakgate run")
	}
	return lines
}

// LimitLines cuts lines out of the middle of a long message: the head says what broke, the end what
// to do. If it can, it cuts where a bound or a leak begins, not in one.
func LimitLines(lines []string) []string {
	over := len(lines) - MaxMessageLines
	if over <= 0 {
		return lines
	}
	const end = 8
	cut := beginsBefore(lines, len(lines)-end-over-1)
	out := slices.Clone(lines[:cut])
	out = append(out, fmt.Sprintf("… %d more lines", len(lines)-end-cut))
	return append(out, lines[len(lines)-end:]...)
}

// beginsBefore returns the last line up to most that begins a bound or a leak, but for the first
// one of the message; most if there is none.
func beginsBefore(lines []string, most int) int {
	found := 0
	for i := 1; i <= most; i++ {
		if lines[i-1] == "" && lines[i] != "" && lines[i][0] != ' ' {
			if found == 0 { // the first
				found = -1
				continue
			}
			found = i
		}
	}
	if found <= 0 {
		return most
	}
	return found
}

func boundsFailure(e *check.Evaluation, env *environ.Environment) []string {
	lines := []string{"leakcheck: more is retained than the test allows"}
	if broken, _ := e.Broken(); len(e.Findings) > 1 {
		lines[0] += fmt.Sprintf(" (%d of %d bounds)", broken, len(e.Findings))
	}
	traced := 0
	var drawn []tree.GrowthKey // last branches of the traces so far
	for i := range e.Findings {
		f := &e.Findings[i]
		if !f.Broken {
			continue
		}
		lines = append(lines, "", f.Shown, "    "+f.Amount)
		if len(f.Culprits) > 0 && slices.Contains(drawn, f.Trace().Last().GrowthKey()) {
			lines = append(lines, "    most of it is at the end of the path above")
			continue
		}
		if f.Detail != nil {
			lines = append(lines, textfmt.Indent(f.Detail)...)
			continue
		}
		if traced++; traced > MaxTraced {
			continue
		}
		if len(f.Culprits) == 0 {
			lines = append(lines, textfmt.Indent(explainGoroutines(f, env))...)
			continue
		}
		drawn = append(drawn, f.Trace().Last().GrowthKey())
		for _, line := range textfmt.Indent(explain(f, e.Observation, env)) {
			if !strings.HasPrefix(line, "    "+forExample) || !slices.Contains(lines, line) { // of the same objects
				lines = append(lines, line)
			}
		}
		if others := Others(f.Trace(), f.Culprits, f.Below); len(others) > 0 {
			lines = append(lines, "", "    besides:")
			lines = append(lines, textfmt.Indent(others)...)
		}
	}
	return lines
}

// explain shows who holds the most of a finding.
func explain(f *check.Finding, obs *observe.Observation, env *environ.Environment) []string {
	t := f.Trace()
	holder := f.Culprits[0]
	lines := append(HeldBy(holder, env), UsualCause(t, env)...)
	lines = append(lines, "")
	lines = append(lines, Lines(t)...)
	lines = append(lines, AlsoHeldBy(t, obs, env)...)
	return append(lines, AllocatedAt(t.Last(), "", env)...)
}

func goldenFailure(e *check.Evaluation, c *check.Comparison, env *environ.Environment) []string {
	measure := "the golden file allows"
	if env.Goldens != "" {
		measure = "the base retains"
	}
	lines := []string{
		fmt.Sprintf("leakcheck: more is retained than %s (%s): %s",
			measure, textfmt.CountNoun(int64(len(c.Failures)), "path"), c.Shown), "",
	}
	diff := strings.Split(strings.TrimRight(c.Diff, "\n"), "\n")
	lines = append(lines, textfmt.Indent(diff[:min(len(diff), maxDiffLines)])...)
	if rest := len(diff) - maxDiffLines; rest > 0 {
		lines = append(lines, fmt.Sprintf("    … %d more lines", rest))
	}
	worst := e.WorstLine()
	var who []string
	if len(worst.Culprits) > 0 {
		who = explain(worst, e.Observation, env)
	} else {
		who = explainLines(e.Census, worst.Line.Covered, env)
	}
	if len(who) == 0 {
		return lines
	}
	return append(append(lines, "", "the most: "+worst.Line.String()), textfmt.Indent(who)...)
}
