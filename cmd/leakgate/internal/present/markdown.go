package present

import (
	"fmt"
	"io"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// The sizes that GitHub takes, with some room to spare.
const (
	// CommentSize is the size in bytes of the largest comment; the limit is 65,536 characters.
	CommentSize = 64_000
	// StepSummarySize is the size in bytes of the largest step summary; the limit is 1 MiB for all
	// that a step writes.
	StepSummarySize = 1_000_000
	// SmallestPage is the least size in bytes that a page can be cut to.
	SmallestPage = 1_000
)

// Markdown writes the run for a pull request's comment or a job's summary: the outcome, the
// findings with their messages, the table. What does not fit into Size is left out at the end, and
// a last line says so.
type Markdown struct {
	Size int // bytes, at most; at least SmallestPage
}

// Marker is the first line of the comment, by which a script finds its own comment again.
const Marker = "<!-- leakgate -->"

// Present implements Presenter.
func (m Markdown) Present(w io.Writer, run *outcome.Run) error {
	d := &markdownPage{room: m.Size - len(leftOut)}
	d.add(Marker + "\n" + m.head(run))
	if run.Coverage != "" {
		d.add(markdownText(run.Coverage) + "\n\n")
	}
	each(run, func(p *outcome.Package, a *outcome.Assertion) {
		if a.Verdict != verdict.Pass {
			d.add(markdownFinding(p, a))
		}
	})
	for _, p := range run.Packages {
		for _, f := range p.Failures {
			if f.Kind == outcome.KindOther {
				d.add(markdownFailure(p, f))
			}
		}
	}
	for _, text := range run.Problems {
		d.add("> problem: " + markdownText(text) + "\n\n")
	}
	d.addTable(run)
	for _, text := range run.Notes {
		d.add("> " + markdownText(text) + "\n\n")
	}
	_, err := io.WriteString(w, d.text())
	return err
}

// leftOut is the last line of a page that is cut short.
const leftOut = "\n_More is left out here: see leakgate.json among the artifacts._\n"

// markdownPage takes parts until one does not fit.
type markdownPage struct {
	b    strings.Builder
	room int
	cut  bool
}

// add adds a part, whole or not at all.
func (d *markdownPage) add(part string) {
	if d.cut || d.b.Len()+len(part) > d.room {
		d.cut = true
		return
	}
	d.b.WriteString(part)
}

func (d *markdownPage) text() string {
	if d.cut {
		return d.b.String() + leftOut
	}
	return d.b.String()
}

func (m Markdown) head(run *outcome.Run) string {
	mark := map[bool]string{true: "✅", false: "❌"}[run.Outcome == outcome.Pass]
	if run.Outcome == outcome.Unknown {
		mark = "⚠️"
	}
	return fmt.Sprintf("### %s leakgate: %s\n\n%s\n\n", mark, outcomeText(run), Summary{}.totals(run))
}

// maxMarkdownMessage is how much of a message a page shows, in bytes.
const maxMarkdownMessage = 6000

func markdownFinding(p *outcome.Package, a *outcome.Assertion) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#### %s: %s\n\n", verdictText(a), markdownName(p.ImportPath+"."+a.Test))
	for i, f := range a.Findings {
		if i == 10 {
			fmt.Fprintf(&b, "- and %d more\n", len(a.Findings)-i)
			break
		}
		fmt.Fprintf(&b, "- %s", markdownText(f.Text))
		if f.Declared {
			fmt.Fprintf(&b, " — root declared at %s", markdownName(fmt.Sprintf("%s:%d", f.File, f.Line)))
		}
		if f.IsLeak() {
			fmt.Fprintf(&b, " — %s %s", f.Noun(), markdownName(f.ShortFingerprint()))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	if a.Message != "" {
		fmt.Fprintf(&b, "<details><summary>message</summary>\n\n%s\n\n</details>\n\n", markdownCode(a.Message))
	}
	return b.String()
}

func markdownFailure(p *outcome.Package, f outcome.Failure) string {
	name := p.ImportPath
	if f.Test != "" {
		name += "." + f.Test
	}
	text := fmt.Sprintf("#### failed for other reasons: %s\n\n", markdownName(name))
	if f.Output != "" {
		text += fmt.Sprintf("<details><summary>output</summary>\n\n%s\n\n</details>\n\n", markdownCode(f.Output))
	}
	return text
}

// addTable adds the table, row by row, so that a long one is cut and not left out.
func (d *markdownPage) addTable(run *outcome.Run) {
	if run.Totals.Assertions == 0 {
		return
	}
	d.add("| test | verdict | live before | live after | retained | objects | typed | passed | worst bound | pause |\n|---|---|--:|--:|--:|--:|--:|---|---|--:|\n")
	for _, p := range run.Packages {
		for _, r := range rowsOf(p) {
			cells := []string{p.ImportPath + "." + r.test, r.verdict, r.before, r.live, r.retained, r.objects, r.typed, r.passed, r.worst, r.pause}
			for i, cell := range cells {
				cells[i] = markdownText(cell)
			}
			d.add("| " + strings.Join(cells, " | ") + " |\n")
		}
	}
	d.add("\n")
}
