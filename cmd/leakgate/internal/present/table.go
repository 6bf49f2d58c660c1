package present

import (
	"strings"
	"unicode/utf8"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// A table has names from elsewhere in it, so it escapes all text: a cell is on one line. It has one
// set of columns through all its sections, which text/tabwriter cannot do. The last column is cut
// where a line would be wider than width, in columns; 0: it is never cut.
type table struct {
	header []string
	width  int
	rows   []tableRow
}

type tableRow struct {
	section string   // a line of its own, however wide
	cells   []string // as many as the header has
}

func (t *table) section(name string) {
	t.rows = append(t.rows, tableRow{section: cli.PlainLine(name)})
}

func (t *table) row(cells []string) {
	r := tableRow{cells: make([]string, len(cells))}
	for i, cell := range cells {
		r.cells[i] = cli.PlainLine(cell)
	}
	t.rows = append(t.rows, r)
}

// write draws the table. paint may add colour to a cell that has its full width.
func (t *table) write(b *strings.Builder, paint func(column int, cell string) string) {
	widths := make([]int, len(t.header))
	for _, cells := range append([]tableRow{{cells: t.header}}, t.rows...) {
		for i, cell := range cells.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rest := t.width - 1
	for _, width := range widths[:len(widths)-1] {
		rest -= width + 2
	}
	line := func(cells []string, paint func(int, string) string) {
		b.WriteString(" ")
		for i, cell := range cells {
			b.WriteString(" ")
			if last := len(cells) - 1; i == last && t.width > 0 {
				cell = shorten(cell, max(rest-1, minLastColumn))
			} else if i < last {
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

// minLastColumn is the least width of a table's last column, even if the line becomes too wide.
const minLastColumn = 16

// shorten cuts text that is longer than width characters; the last character is then an ellipsis.
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
