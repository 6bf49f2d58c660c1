package present

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
)

// Comparison writes a table of the first most rows of a comparison, and a last
// line that counts the rows by how they changed.
func Comparison(w io.Writer, rows []compare.Row, most int, noun string) error {
	var b strings.Builder
	t := table{header: []string{strings.ToUpper(noun), "OBJECTS", "", "BYTES", "", ""}}
	group := ""
	grew, shrank, same, added, gone := 0, 0, 0, 0, 0
	for i, r := range rows {
		if r.Depth == 0 {
			switch {
			case len(r.Bytes.Old) == 0:
				added++
			case len(r.Bytes.New) == 0:
				gone++
			case r.Grew():
				grew++
			case r.Shrank():
				shrank++
			default:
				same++
			}
		}
		if i >= most {
			continue
		}
		if r.Group != group {
			group = r.Group
			t.section(group)
		}
		t.row(comparisonCells(r))
	}
	if len(rows) > 0 {
		t.write(&b, func(_ int, cell string) string { return cell })
		if left := len(rows) - most; left > 0 {
			fmt.Fprintf(&b, "  ... %d more\n", left)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s: %d grew, %d shrank, %d the same", Plural(grew+shrank+same+added+gone, noun), grew, shrank, same)
	if added > 0 {
		fmt.Fprintf(&b, ", %d only in the new one", added)
	}
	if gone > 0 {
		fmt.Fprintf(&b, ", %d only in the old one", gone)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// trimLines drops the spaces at the ends of lines, which empty cells leave.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func comparisonCells(r compare.Row) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	cells := []string{strings.Repeat("  ", r.Depth) + r.Name}
	cells = append(cells, changeCells(r.Objects, number)...)
	cells = append(cells, changeCells(r.Bytes, Bytes)...)
	verdicts := r.Note
	if r.Verdict[0] != r.Verdict[1] && r.Verdict[0] != "" && r.Verdict[1] != "" {
		verdicts = r.Verdict[0] + " → " + r.Verdict[1]
	}
	return append(cells, verdicts)
}

// changeCells returns a cell with the old and the new figure, and a cell with their difference: "~"
// where the two series overlap.
func changeCells(c compare.Change, text func(int64) string) []string {
	value := func(s compare.Series) string {
		switch {
		case len(s) == 0:
			return "-"
		case s.Spread() > 0:
			return text(s.Median()) + " ±" + text(s.Spread())
		}
		return text(s.Median())
	}
	cells := []string{value(c.Old) + " → " + value(c.New)}
	switch {
	case len(c.Old) == 0 || len(c.New) == 0:
		return append(cells, "")
	case c.Trend() == 0:
		return append(cells, "~")
	}
	delta := c.Delta()
	difference := text(delta)
	if delta > 0 {
		difference = "+" + difference
	}
	switch ratio := float64(c.New.Median()) / float64(max(c.Old.Median(), 1)); {
	case c.Old.Median() <= 0:
	case ratio >= 10:
		difference += fmt.Sprintf(" (×%.0f)", ratio)
	default:
		difference += fmt.Sprintf(" (%+.1f %%)", (ratio-1)*100)
	}
	return append(cells, difference)
}
