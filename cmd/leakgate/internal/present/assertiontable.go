package present

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/verdict"
)

// The table has room in a terminal of tableWidth columns. A test whose name is longer than
// maxTestName has a line for its name alone.
const (
	tableWidth  = 100
	maxTestName = 32
)

// table writes one row for each assertion, under its package. Long cells are cut, since each leak
// has a line with the full text, unless the summary is verbose.
func (s Summary) table(b *strings.Builder, run *outcome.Run) {
	if run.Totals.Assertions == 0 {
		return
	}
	t := table{header: []string{"TEST", "VERDICT", "LIVE", "RETAINED", "OBJECTS", "WORST BOUND"}}
	if s.Verbose {
		t.header = []string{"TEST", "VERDICT", "BEFORE", "LIVE", "RETAINED", "OBJECTS", "TYPED", "PAUSE", "PASSED", "WORST BOUND"}
	} else {
		t.width = tableWidth
	}
	for _, p := range run.Packages {
		if len(p.Assertions) == 0 {
			continue
		}
		t.section(p.ImportPath)
		for _, r := range rowsOf(p) {
			if s.Verbose {
				t.row([]string{r.test, r.verdict, r.before, r.live, r.retained, r.objects, r.typed, r.pause, r.passed, r.worst})
				continue
			}
			if utf8.RuneCountInString(r.test) > maxTestName {
				t.section("  " + r.test)
				r.test = ""
			}
			t.row([]string{r.test, r.verdict, r.live, r.retained, r.objects, r.short()})
		}
	}
	b.WriteString("\n")
	t.write(b, func(column int, cell string) string {
		if column != 1 {
			return cell
		}
		return s.paint(strings.TrimSpace(cell) == string(verdict.Pass), cell)
	})
}

// A row is one assertion in a table. Unknown values are "-".
type row struct {
	test, verdict, before, live, retained, objects, typed, pause, passed, worst string
}

// short returns the last cell of a table that fits into a terminal: the worst bound, and for a
// pass, in front of it, the method by which the assertion passed.
func (r row) short() string {
	switch {
	case r.passed == "-":
		return r.worst
	case r.worst == "-":
		return r.passed
	}
	return r.passed + ": " + r.worst
}

// rowsOf returns the rows of a package, in the order of its assertions.
func rowsOf(p *outcome.Package) []row {
	var rows []row
	several := severalAssertions(p)
	for _, a := range p.Assertions {
		r := row{a.Test, verdictText(a), "-", "-", "-", "-", "-", "-", cmp.Or(string(a.Method), "-"), worstBound(a)}
		if several[a.Test] {
			r.test += fmt.Sprintf(" #%d", a.Seq)
		}
		if a.LiveBefore > 0 {
			r.before = Bytes(a.LiveBefore)
		}
		if a.Totals.LiveBytes > 0 {
			r.live = Bytes(a.Totals.LiveBytes)
			r.retained = Bytes(a.RetainedBytes)
			r.objects = strconv.FormatInt(a.RetainedObjects, 10)
			r.typed = percentText(a.Totals.TypedBytes, a.Totals.AttributedBytes)
			r.pause = pauseText(a.PauseNS)
		}
		rows = append(rows, r)
	}
	return rows
}

// verdictText returns the verdict, or "known" for a failure that the base has too, which fails no
// gate.
func verdictText(a *outcome.Assertion) string {
	if a.Known {
		return "known"
	}
	return string(a.Verdict)
}

// severalAssertions says which tests of p have more than one assertion.
func severalAssertions(p *outcome.Package) map[string]bool {
	count := make(map[string]int)
	several := make(map[string]bool)
	for _, a := range p.Assertions {
		count[a.Test]++
		several[a.Test] = count[a.Test] > 1
	}
	return several
}
