package alloc

import (
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

const (
	maxRows  = 12 // of the table of a message
	maxSites = 5
)

// rate is the share of n of one call: "2.00".
func rate(n int64, calls int) string { return fmt.Sprintf("%.2f", float64(n)/float64(calls)) }

// perOp is the allocation of one call: "2.00 allocs/op (192 B/op)".
func perOp(sum row, calls int) string {
	return fmt.Sprintf("%s allocs/op (%.0f B/op)", rate(sum.objects, calls), float64(sum.bytes)/float64(calls))
}

// text is the allocation of one call, and its limits: "2.00 allocs/op (192 B/op), at most 1
// allowed".
func (f *finding) text(r *recording) string {
	text := perOp(f.sum, r.calls)
	switch n := f.bound.MaxAllocs; {
	case n == nil:
	case *n == 0:
		text += ", none allowed"
	default:
		text += fmt.Sprintf(", at most %d allowed", *n)
	}
	if n := f.bound.MaxBytes; n != nil {
		text += fmt.Sprintf(", at most %d B allowed", *n)
	}
	return text
}

// broken has a line for each bound that does not hold.
func broken(found []finding, r *recording) (lines []string) {
	for _, f := range found {
		if f.broken {
			lines = append(lines, f.bound.shown()+": "+f.text(r))
		}
	}
	return lines
}

// passed are the notes of an assertion that holds.
func passed(r *recording, found []finding) []string {
	notes := []string{fmt.Sprintf("op allocates %s, counted over %s", perOp(total(r), r.calls), textfmt.CountNoun(int64(r.calls), "call"))}
	for _, f := range found {
		notes = append(notes, f.bound.untoldOf(r)...)
		if n := f.bound.MaxAllocs; n != nil && f.sum.objects > *n*int64(r.calls) {
			notes = append(notes, fmt.Sprintf("%s: %s objects in %s are more than the bound, which passes: caches that fill, or pools that a collection emptied",
				f.bound.shown(), textfmt.Count(f.sum.objects-*n*int64(r.calls)), textfmt.CountNoun(int64(r.calls), "call")))
		}
	}
	return notes
}

func total(r *recording) (sum row) {
	all := Bound{}
	return all.counts(r.rows)
}

// table lists the rows of a recording, those with most objects first.
func table(r *recording) (lines []string) {
	lines = append(lines, fmt.Sprintf("%12s %11s  %s", "allocs/op", "B/op", "type"))
	rest := row{}
	left := 0
	for i, n := range r.rows {
		if i >= maxRows {
			rest.objects += n.objects
			rest.bytes += n.bytes
			left++
			continue
		}
		name := n.name
		switch {
		case n.runtime:
			name = "(" + name + ", which no bound counts)"
		case !n.typed:
			name = "(" + name + ")"
		default:
			name = shownName(name)
		}
		lines = append(lines, line(n, r.calls, name))
	}
	if left > 0 {
		lines = append(lines, line(&rest, r.calls, fmt.Sprintf("(%s more)", textfmt.CountNoun(int64(left), "type"))))
	}
	return lines
}

func line(n *row, calls int, name string) string {
	return fmt.Sprintf("%12s %11.0f  %s", rate(n.objects, calls), float64(n.bytes)/float64(calls), name)
}

// failure is the message about bounds that do not hold.
func failure(r *recording, found []finding, where []*site, env *environ.Environment) []string {
	lines := broken(found, r)
	title := "leakcheck: op allocates more than the test allows"
	if n := len(found); n > 1 {
		title += fmt.Sprintf(" (%d of %d bounds)", len(lines), n)
	}
	for _, f := range found {
		for _, n := range r.rows {
			n.over = n.over || f.broken && f.bound.in(n)
		}
	}
	lines = append([]string{title, ""}, textfmt.Indent(lines)...)
	return append(append(lines, ""), r.explained(where, env)...)
}

// explained shows a table of the allocations of op, and the stacks of the rows that are over.
func (r *recording) explained(where []*site, env *environ.Environment) []string {
	lines := append(table(r), allocatedAt(r, where, env)...)
	lines = append(lines, "", counted(r))
	if slices.ContainsFunc(r.rows, func(n *row) bool { return n.shape != nil }) {
		lines = append(lines, shapeNote)
	}
	return textfmt.Indent(lines)
}

// allocatedAt shows the stacks that allocated objects of the rows that are over. If the code at the
// call does not tell the type, a stack is matched by the size of its objects. For such a stack
// allocatedAt names the most frequent other objects of that size. Stacks for rows of several sizes
// come last.
func allocatedAt(r *recording, where []*site, env *environ.Environment) (lines []string) {
	shown := 0
	for _, s := range r.sitesOver(where) {
		stack := message.StackLines(s.stack, env)
		if len(stack) == 0 {
			continue
		}
		if shown++; shown > maxSites {
			return append(lines, "", "and more, which a profile shows: go test -memprofile mem.out -memprofilerate 1")
		}
		lines = append(lines, "", s.text(r.calls))
		if other := r.othersOf(s); other != "" {
			lines = append(lines, "   (told by size: it may be "+other+", too)")
		}
		lines = append(lines, stack...)
	}
	return append(lines, r.unplaced(where)...)
}

// text describes the allocations of a stack: "160 B, 1.00 allocs/op of app.Order at:".
func (s *site) text(calls int) string {
	text := fmt.Sprintf("%s B, %s ", textfmt.Count(s.size), rate(s.objects, calls))
	switch {
	case s.of == nil:
		return text + "allocs/op at:"
	case s.sharesBlocks() && s.objects < int64(calls):
		return text + "blocks/op, which small objects share, of " + shownName(s.of.name) + " at:"
	}
	return text + "allocs/op of " + shownName(s.of.name) + " at:"
}

// fewest is the least number of objects, over the given number of calls, for a stack to be shown:
// more than a bound lets pass.
func (s *site) fewest(calls int) int64 {
	if s.sharesBlocks() {
		return max(1, int64(calls)/alloctrace.BlockSize)
	}
	return excess(calls, false) + 1
}

// sitesOver returns the stacks that allocated objects of the rows that are over, more than a bound
// lets pass. Those matched by type come first, then those matched by size, and then those that are
// possible because a row has objects of several sizes.
func (r *recording) sitesOver(where []*site) []*site {
	var by [3][]*site
	for _, s := range where {
		place := len(by)
		for _, n := range r.rows {
			switch {
			case !n.over || s.objects < s.fewest(r.calls):
			case s.of != nil:
				if s.of.in(n) {
					place = 0
				}
			case n.size == s.size:
				place = 1
			case n.size == 0:
				place = min(place, 2)
			}
		}
		if place < len(by) {
			by[place] = append(by[place], s)
		}
	}
	return append(append(by[0], by[1]...), by[2]...)
}

// othersOf names the most frequent objects, outside of the rows that are over, that a stack matched
// by size may have allocated; "" if there are none.
func (r *recording) othersOf(s *site) string {
	if s.of != nil {
		return ""
	}
	for _, row := range r.rows {
		if !row.over && row.sizes[s.size] > 0 {
			return shownName(row.name)
		}
	}
	return ""
}

// unplaced names the types of rows that are over for which stacks account for fewer or more objects
// than are counted, and says why.
func (r *recording) unplaced(where []*site) (lines []string) {
	const most = 3
	for _, row := range r.rows {
		tiny := row.tiny || !row.typed && row.sizes[alloctrace.BlockSize] > 0
		if !row.over || !row.typed && !tiny || row.runtime || len(lines) > most {
			continue
		}
		placed, maybe := int64(0), false
		for _, s := range where {
			switch {
			case s.of != nil && s.of.in(row):
				placed += s.objects
			case s.of == nil && (row.sizes[s.size] > 0 || row.size == 0):
				maybe = true
			}
		}
		slack := max(excess(r.calls, r.collected), int64(r.calls)/2)
		why := ""
		switch {
		case placed > row.objects+slack:
			why = "goroutines that do not count allocate it at these places, too"
		case maybe || placed+slack >= row.objects:
			continue
		case tiny:
			why = "small objects without pointers share blocks, which the profiler counts once"
		default:
			why = "when op was called again for the stacks, it did not allocate as many"
		}
		lines = append(lines, shownName(row.name)+": "+why)
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

func shownName(name string) string {
	return textfmt.Abridge(naming.ShortName(name), message.MaxNameShown)
}

func counted(r *recording) string {
	return fmt.Sprintf("op was called %s; its own goroutine counts, and those that it starts", textfmt.CountNoun(int64(r.calls), "time"))
}

// withoutBounds describes the allocations of op, and how to bound them without a golden file.
func withoutBounds(r *recording) []string {
	sum := total(r)
	up := func(n int64) int64 { return (n + int64(r.calls)/2) / int64(r.calls) }
	lines := []string{
		"what op allocates now holds with",
		fmt.Sprintf("    leakcheck.AllAllocs().MaxAllocsPerOp(%d).MaxBytesPerOp(%d)", up(sum.objects), up(sum.bytes)),
		"",
	}
	return append(lines, r.explained(nil, nil)...)
}
