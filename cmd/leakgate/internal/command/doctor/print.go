package doctor

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// printSurroundings prints the machine and the toolchain that leakgate is tried on.
func (s *surroundings) printSurroundings(w io.Writer) {
	system := s.System
	if s.Kernel != "" {
		system += ", kernel " + s.Kernel
	}
	memory := "no limit is known"
	if s.Memory >= 0 {
		memory = fmt.Sprintf("%s can be taken (%s)", textfmt.ByteCount(s.Memory), s.MemoryLimit)
	}
	for _, line := range [][2]string{
		{"leakgate", s.Leakgate},
		{"system", fmt.Sprintf("%s, %s", system, textfmt.CountNoun(int64(s.Processors), "processor"))},
		{"memory", memory},
		{"toolchain", s.Go},
		{"cache", s.Cache},
	} {
		fmt.Fprintf(w, "%-10s %s\n", line[0], line[1])
	}
}

// printHeader prints the headings of printTrial's columns.
func printHeader(w io.Writer) {
	fmt.Fprintf(w, "\n%-24s %-9s %8s %8s %8s %8s %8s\n", "a test with known leaks", "verdicts", "pause", "capture", "scan", "alive", "in all")
}

// printTrial prints a line of the table, and the notes on it below.
func printTrial(w io.Writer, t *Trial) {
	r := t.Result
	if r == nil {
		fmt.Fprintf(w, "%-24s %-9s %8s %8s %8s %8s %8s\n", t.Way, t.State, "", "", "", "", round(t.Took))
		note(w, t.Problem)
		return
	}
	figures := []string{round(r.Pause), round(r.Again), round(r.Scan), textfmt.Count(r.Live)}
	if r.Live == 0 { // there was no scan
		figures = []string{"", "", "", ""}
	}
	fmt.Fprintf(w, "%-24s %-9s %8s %8s %8s %8s %8s\n", t.Way, t.State, figures[0], figures[1], figures[2], figures[3], round(t.Took))
	if r.Live > 0 {
		note(w, fmt.Sprintf("audit: the scan reached %s of %s objects alive, and %s not alive", textfmt.Count(r.Live-r.Missed), textfmt.Count(r.Live), textfmt.ByteCount(r.Extra)))
	}
	for _, line := range r.Log {
		note(w, line)
	}
	if r.NotForked != "" {
		note(w, "not forked: "+r.NotForked)
	}
	for _, problem := range append(r.Wrong, r.Unknown...) {
		note(w, problem)
	}
}

// note prints text, indented, below a line of the table.
func note(w io.Writer, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintf(w, "    %s\n", strings.TrimRight(line, "\n"))
	}
}

// round rounds a duration to three digits.
func round(d time.Duration) string {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.String()
}

// printConclusion prints whether leakgate works here.
func (r *report) printConclusion(w io.Writer) {
	fmt.Fprintln(w)
	switch r.judge() {
	case cli.Pass:
		fmt.Fprintln(w, "leakgate works here.")
		for _, t := range r.Trials {
			switch t.State {
			case Right:
			case Late:
				fmt.Fprintf(w, "Of the way %q that is not known: the time was over.\n", t.Way)
			default:
				fmt.Fprintf(w, "The way %q does not; nothing needs it.\n", t.Way)
			}
		}
	case cli.Findings:
		fmt.Fprintln(w, "leakgate gives WRONG verdicts here. Do not rely on it; please report this with all of the above.")
	default:
		fmt.Fprintln(w, "leakgate cannot tell what is retained here. The lines above say why, and what may help; if they do not, please report this with all of them.")
	}
}
