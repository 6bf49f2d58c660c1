package present

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A table has one set of columns through all its sections, which text/tabwriter cannot do. The last
// column may be as wide as it likes.
type table struct {
	header []string
	rows   []tableRow
}

type tableRow struct {
	section string   // a line of its own
	cells   []string // as many as the header has
}

func (t *table) section(name string) { t.rows = append(t.rows, tableRow{section: name}) }
func (t *table) row(cells []string)  { t.rows = append(t.rows, tableRow{cells: cells}) }

// drop removes a column.
func (t *table) drop(column int) {
	t.header = slices.Delete(t.header, column, column+1)
	for i := range t.rows {
		if r := &t.rows[i]; r.section == "" {
			r.cells = slices.Delete(r.cells, column, column+1)
		}
	}
}

// write draws the table. paint may add colour to a cell that has its full width.
func (t *table) write(b *strings.Builder, paint func(column int, cell string) string) {
	widths := make([]int, len(t.header))
	for _, cells := range append([]tableRow{{cells: t.header}}, t.rows...) {
		for i, cell := range cells.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string, paint func(int, string) string) {
		b.WriteString(" ")
		for i, cell := range cells {
			b.WriteString(" ")
			if i < len(cells)-1 {
				cell += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1)
			}
			b.WriteString(paint(i, cell))
		}
		b.WriteString("\n")
	}
	line(t.header, func(_ int, cell string) string { return cell })
	for _, r := range t.rows {
		if r.section != "" {
			b.WriteString(r.section + "\n")
			continue
		}
		line(r.cells, paint)
	}
}
