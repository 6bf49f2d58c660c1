package alloc

import (
	"cmp"
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
	Name    string // as allocrun has it, or allTypes
	Package string // import path, if the type has a name
	Objects compare.Change
	Bytes   compare.Change
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
	g := &gathering{of: make(map[[2]string]*typeRow)}
	for i, r := range olds {
		g.add(r, i, len(olds), func(c *compare.Change) *compare.Series { return &c.Old })
	}
	for i, r := range news {
		g.add(r, i, len(news), func(c *compare.Change) *compare.Series { return &c.New })
	}
	for _, row := range g.rows {
		row.Objects, row.Bytes = padded(row.Objects, len(olds), len(news)), padded(row.Bytes, len(olds), len(news))
	}
	varying := g.varying()
	more := g.more(varying)
	for _, row := range g.rows {
		g.judge(row, percent, varying, more || row.Name == allTypes)
	}
	slices.SortStableFunc(g.rows[1:], func(a, b *typeRow) int {
		return cmp.Or(cmp.Compare(b.Objects.Delta(), a.Objects.Delta()), cmp.Compare(b.Bytes.Delta(), a.Bytes.Delta()), cmp.Compare(a.Name, b.Name))
	})
	return g.rows
}

// A gathering collects the rows of all runs.
type gathering struct {
	of      map[[2]string]*typeRow
	rows    []*typeRow
	unsized int64 // objects of uncertain size, in the run that has most of them
}

func (g *gathering) row(name, pkg string) *typeRow {
	key := [2]string{name, pkg}
	if g.of[key] == nil {
		g.of[key] = &typeRow{Name: name, Package: pkg}
		g.rows = append(g.rows, g.of[key])
	}
	return g.of[key]
}

// add adds the nth of a number of runs of one revision.
func (g *gathering) add(r *allocrun.Result, nth, runs int, side func(*compare.Change) *compare.Series) {
	g.unsized = max(g.unsized, r.UnsizedObjects)
	add := func(row *typeRow, objects, bytes int64) {
		for _, n := range []struct {
			to    *compare.Change
			count int64
		}{{&row.Objects, objects}, {&row.Bytes, bytes}} {
			s := side(n.to)
			if *s == nil {
				*s = make(compare.Series, runs)
			}
			(*s)[nth] += n.count
		}
	}
	all := g.row(allTypes, "")
	for _, t := range r.Types {
		if t.Records {
			continue // the runtime reuses its own records at its discretion
		}
		add(all, t.Objects, t.Bytes)
		add(g.row(t.Name, t.Package), t.Objects, t.Bytes)
	}
}

// padded gives a side zeros if none of its runs had the type.
func padded(c compare.Change, olds, news int) compare.Change {
	if c.Old == nil {
		c.Old = make(compare.Series, olds)
	}
	if c.New == nil {
		c.New = make(compare.Series, news)
	}
	return c
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

// Note says how sure it is that a row changed: p of benchstat's test and the number of runs; "" if
// the runs do not vary.
func (r *typeRow) Note() string {
	f := figure{Change: r.Objects}
	if !f.varies() {
		return ""
	}
	return f.certainty()
}
