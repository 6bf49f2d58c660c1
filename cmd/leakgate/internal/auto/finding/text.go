package finding

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// words describes each status.
var words = map[repeat.Status]string{
	repeat.Fails:      "fails without being repeated, too",
	repeat.Skips:      "skips itself",
	repeat.Once:       "fails when it is called again",
	repeat.Slow:       "takes too long to be repeated in the package's time",
	repeat.Left:       "left out: there was no time to repeat it after the quicker ones",
	repeat.Untold:     "could not tell: the package's time was over before it had been called often enough",
	repeat.OutOfTime:  "not tried: the package's time was over",
	repeat.Hangs:      "does not come back in time",
	repeat.Ended:      "ends the process",
	repeat.NoLoop:     "has no loop over b.N or b.Loop() that can be held",
	repeat.Short:      "ends its loop before it has been repeated often enough",
	repeat.Unrunnable: "is not in the test binary",
	"":                "not tried: the package's time was over",
}

// Reason says in a line why a function is not repeated.
func Reason(t drive.Tried) string {
	text := words[t.Status]
	if t.Status == repeat.Hangs {
		text = fmt.Sprintf("did not come back in %s", t.Took.Round(100*time.Millisecond))
	}
	if line := telling(t.Reason); line != "" {
		text += ": " + line
	}
	return text
}

// failed matches a line of a test's output that says why it failed: one of package testing with the
// place, the one with which testify begins its reason, or a panic.
var failed = regexp.MustCompile(`^(\w+\.go:\d+: \S|Error: |panic: )`)

// telling returns the line of a test's output that says most about its failure: the last that
// failed matches, or the first one that is neither empty nor a heading of go test.
func telling(output string) string {
	const most = 160
	first, last := "", ""
	for line := range strings.Lines(output) {
		line = strings.Join(strings.Fields(line), " ")
		switch {
		case line == "" || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "=== ") || line == "FAIL" || line == "PASS":
		case failed.MatchString(line):
			last = line
		case first == "":
			first = line
		}
	}
	line := cmp.Or(last, first)
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// adjectives describe each status beside a number of functions.
var adjectives = map[repeat.Status]string{
	repeat.Fails:      "failing anyway",
	repeat.Skips:      "skipped",
	repeat.Once:       "failing when called again",
	repeat.Slow:       "too slow",
	repeat.Left:       "without time",
	repeat.Untold:     "could not tell",
	repeat.OutOfTime:  "without time",
	repeat.Hangs:      "too slow",
	repeat.Ended:      "ending the process",
	repeat.NoLoop:     "without a loop to hold",
	repeat.Short:      "with too short a loop",
	repeat.Unrunnable: "not in the test binary",
	"":                "without time",
}

// Reasons counts functions that are not repeated by the reason, the most frequent first.
func Reasons(left []drive.Tried) string {
	count := make(map[string]int)
	for _, f := range left {
		count[adjectives[f.Status]]++
	}
	words := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	for i, word := range words {
		words[i] = fmt.Sprintf("%d %s", count[word], word)
	}
	return strings.Join(words, ", ")
}

// NeedsTime reports whether more time might cover a function.
func NeedsTime(t drive.Tried) bool {
	switch t.Status {
	case repeat.Slow, repeat.Left, repeat.Untold, repeat.OutOfTime, repeat.Hangs, "":
		return true
	}
	return false
}

// label names a group of functions.
func label(functions []string) string {
	if len(functions) == 1 {
		return functions[0]
	}
	return fmt.Sprintf("%s and %d more", functions[0], len(functions)-1)
}

func (f feeder) String() string {
	if len(f.functions) == 1 {
		return f.functions[0] + " in " + f.pkg
	}
	some := fmt.Sprintf("some of %d functions in %s", len(f.functions), f.pkg)
	if len(f.functions) > 8 { // as a rule most of them do not
		return some
	}
	return some + ": " + strings.Join(f.functions, ", ")
}

// test is the name of the assertion.
func (f *found) test() string { return label(f.group.Functions) }

// text describes a growth in one line.
func text(g Growth) string {
	if g.Bound.Type == "goroutine" {
		line := g.Bound.Growth + " in " + g.Bound.Path
		if by := g.Bound.Holder.CreatedBy; by != "" {
			line += ", started by " + by
		}
		return line
	}
	h, line := g.Bound.Holder, g.Bound.Growth
	if h.Kind != "resource" {
		line += " via " + g.Bound.Path
	}
	return line
}

// origin says which line of the user's code makes what grows, what holds it, and what a test has
// ended.
func origin(g Growth) []string {
	var lines []string
	if g.Maker != nil {
		lines = append(lines, fmt.Sprintf("made by %s (%s)", symbol.Short(symbol.Unescape(g.Maker.Function)), path.Base(filepath.ToSlash(g.Maker.At))))
	}
	if text := g.Bound.Holder.Text; text != "" {
		lines = append(lines, text)
	}
	if g.Ended != "" {
		lines = append(lines, "the test does "+g.Ended+", and it is still here")
	}
	return lines
}

// message explains a failed assertion: the growth in leakcheck's words, the functions that feed it,
// the command that shows it again, and a test that finds it.
func (s *Sorter) message(f *found) string {
	var b strings.Builder
	op := label(f.group.Functions)
	fmt.Fprintf(&b, "leakgate -auto: something grows each time %s runs\n", op)
	for _, c := range f.causes {
		fmt.Fprintf(&b, "\n%s\n", text(c.growth))
		for _, line := range origin(c.growth) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		lines := make([]string, 0, len(c.fed))
		for _, fed := range c.fed {
			lines = append(lines, fed.String())
		}
		const most = 10
		if n := len(lines); n > most {
			lines = append(lines[:most], fmt.Sprintf("and %d more", n-most))
		}
		if c.feedersIncomplete {
			lines = append(lines, "maybe others too, which were not told apart")
		}
		fmt.Fprintf(&b, "    fed by %s\n", strings.Join(lines, "\n           "))
		if c.growth.Registry {
			b.WriteString("    a registry? it lies in a package variable: if it is meant to grow, say so once in " + SuppressionsFile + ", or empty it when a test ends\n")
		}
	}
	if dropped := len(f.group.Record.Bounds) - len(f.causes); dropped > 0 {
		fmt.Fprintf(&b, "\n%d more of what follows is no finding of this test: it is the tests' own, another module's, suppressed, or was found before\n", dropped)
	}
	// The artifacts move to the folder of the assertion's record.
	full := strings.ReplaceAll(strings.TrimSpace(f.group.Record.Message), f.group.Folder, s.folder(f.pkg, f.test()))
	fmt.Fprintf(&b, "\nin full, where op is %s:\n    %s\n", op, strings.ReplaceAll(full, "\n", "\n    "))
	again := s.rerun(f.pkg, f.group.Functions)
	const most = 3 // functions at most in a test to paste
	if len(f.group.Functions) > most {
		fmt.Fprintf(&b, "\nthere was no time to tell these functions apart; with more of it, this finds the one, with a test to paste:\n    %s\n", again)
		return b.String()
	}
	fmt.Fprintf(&b, "\nto see it again:\n    %s\n", again)
	if strings.HasPrefix(op, "Benchmark") {
		fmt.Fprintf(&b, "\nto keep it away, a test that calls leakcheck.AssertNoGrowth with what the loop of %s does\n", op)
	} else if slices.ContainsFunc(f.group.Functions, func(name string) bool { return strings.HasPrefix(name, "Fuzz") }) {
		fmt.Fprintf(&b, "\nto keep it away, a test that calls leakcheck.AssertNoGrowth with what %s does with a seed\n", op)
	} else {
		fmt.Fprintf(&b, "\nto keep it away, a test that fails until it is gone:\n%s", textfmt.IndentText(pasted(f.group.Functions)))
	}
	return b.String()
}

// pasted returns the source of a test that asserts what was explored.
func pasted(functions []string) string {
	var b strings.Builder
	var tests []string // for a subtest, the test that has it
	for _, f := range functions {
		if f, _, _ = strings.Cut(f, "/"); !slices.Contains(tests, f) {
			tests = append(tests, f)
		}
	}
	name := strings.TrimPrefix(tests[0], "Test")
	fmt.Fprintf(&b, "func Test%sDoesNotGrow(t *testing.T) {\n\tleakcheck.AssertNoGrowth(t, func() {\n", strings.TrimPrefix(name, "_"))
	for _, f := range tests {
		if strings.HasPrefix(f, "Example") {
			fmt.Fprintf(&b, "\t\t%s()\n", f)
		} else {
			fmt.Fprintf(&b, "\t\tt.Run(\"again\", %s)\n", f)
		}
	}
	b.WriteString("\t})\n}\n")
	return b.String()
}
