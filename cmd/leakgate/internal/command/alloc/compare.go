package alloc

import (
	"slices"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// Growth of at most this much is no regression, whatever its share: what is set up once, such as a
// cache, differs by a few objects.
const (
	leastObjects = 10
	leastBytes   = 1 << 10
)

// allTypes is the name of the row that sums a package.
const allTypes = "all types"

// A typeRow is what tests allocate of one type, or of all types, at both revisions.
type typeRow struct {
	// the name as allocrun has it, or allTypes; the group is the import path of a type with a name
	*compare.Row
	// The largest values that are no regression.
	MaxObjects, MaxBytes int64
	Broken               bool   // it grew by more than is allowed
	Text                 string // of a broken row: what grew, by how much, and how sure that is
}

// typeRows compares the runs of two revisions, as many of each. It returns the row allTypes, then
// one row for each type, the largest growth first. Runs are by allocrun.Binary.Types. A row is
// broken if its objects or its bytes grew by more than percent. No type is broken if all
// allocations together grew neither in objects nor in bytes: one type instead of another is no
// regression.
func typeRows(olds, news []*allocrun.Result, percent float64) []*typeRow {
	g := new(gathering)
	tally := compare.NewTally(len(olds))
	for side, runs := range [][]*allocrun.Result{olds, news} {
		for n, r := range runs {
			g.unsized = max(g.unsized, r.UnsizedObjects)
			tally.Add("", allTypes, side, n, 0, 0)
			for _, t := range r.Types {
				if !t.Records { // the runtime reuses its own records at its discretion
					tally.Add("", allTypes, side, n, t.Objects, t.Bytes)
					tally.Add(t.Package, t.Name, side, n, t.Objects, t.Bytes)
				}
			}
		}
	}
	for _, row := range tally.Rows {
		g.rows = append(g.rows, &typeRow{Row: row})
	}
	varying := g.varying()
	more := g.more(varying)
	for _, row := range g.rows {
		g.judge(row, percent, varying, more || row.Name == allTypes)
	}
	slices.SortStableFunc(g.rows[1:], func(a, b *typeRow) int { return compare.ByGrowth(a.Row, b.Row) })
	return g.rows
}

// A gathering is the rows of all runs.
type gathering struct {
	rows    []*typeRow
	unsized int64 // objects of uncertain size, in the run that has most of them
}

// figures returns the objects and bytes of a row. An object of uncertain size may belong to a
// neighbouring row, a T to that of []T; the row of all types has it in any case.
func (g *gathering) figures(row *typeRow) (objects, bytes figure) {
	size := row.Bytes.New.Median() / max(row.Objects.New.Median(), 1)
	objects, bytes = figure{Change: row.Objects}, figure{row.Bytes, g.unsized * size}
	if row.Name != allTypes {
		objects.noise = g.unsized
	}
	return objects, bytes
}

// varying returns how many figures differ from run to run.
func (g *gathering) varying() (n int) {
	for _, row := range g.rows {
		objects, bytes := g.figures(row)
		for _, f := range []figure{objects, bytes} {
			if f.varies() {
				n++
			}
		}
	}
	return n
}

// more reports whether the types that grew outweigh those that shrank, in objects or in bytes.
func (g *gathering) more(varying int) bool {
	var objects, bytes int64
	for _, row := range g.rows[1:] {
		o, b := g.figures(row)
		objects += o.change(varying)
		bytes += b.change(varying)
	}
	return objects > 0 || bytes > 0
}

// judge sets the limits of row, and whether it is broken: never if relevant is false.
func (g *gathering) judge(row *typeRow, percent float64, varying int, relevant bool) {
	objects, bytes := g.figures(row)
	if objects.varies() {
		row.Note = objects.certainty()
	}
	row.MaxObjects, row.MaxBytes = objects.limit(percent, leastObjects), bytes.limit(percent, leastBytes)
	switch {
	case !relevant:
	case objects.change(varying) > 0 && objects.New.Median() > row.MaxObjects:
		row.Broken = true
		row.Text = objects.text(textfmt.Count, " objects") + ", at most " + textfmt.Count(row.MaxObjects) + " allowed"
	case bytes.change(varying) > 0 && bytes.New.Median() > row.MaxBytes:
		row.Broken = true
		row.Text = bytes.text(textfmt.ByteCount, "") + ", at most " + textfmt.ByteCount(row.MaxBytes) + " allowed"
	}
}
