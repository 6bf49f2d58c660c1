package compare

import (
	"cmp"
	"strings"
)

// A Tally adds up objects and bytes by name, in as many runs of each of two sides.
type Tally struct {
	Rows []*Row // in the order in which they came; what a run did not add to is 0
	runs int
	at   map[[2]string]*Row
}

// NewTally returns an empty tally.
func NewTally(runs int) *Tally { return &Tally{runs: runs, at: make(map[[2]string]*Row)} }

// Add adds to the row of a name in a group what a run counted, by its number from 0. Side 0 is
// before, side 1 after.
func (t *Tally) Add(group, name string, side, run int, objects, bytes int64) {
	r := t.at[[2]string{group, name}]
	if r == nil {
		r = &Row{Group: group, Name: name}
		for _, c := range []*Change{&r.Objects, &r.Bytes} {
			c.Old, c.New = make(Series, t.runs), make(Series, t.runs)
		}
		t.at[[2]string{group, name}] = r
		t.Rows = append(t.Rows, r)
	}
	o, b := r.Objects.New, r.Bytes.New
	if side == 0 {
		o, b = r.Objects.Old, r.Bytes.Old
	}
	o[run] += objects
	b[run] += bytes
}

// ByGrowth orders rows: the largest growth in objects first, then that in bytes, then by name.
func ByGrowth(a, b *Row) int {
	return cmp.Or(
		cmp.Compare(b.Objects.Delta(), a.Objects.Delta()),
		cmp.Compare(b.Bytes.Delta(), a.Bytes.Delta()),
		strings.Compare(a.Name, b.Name),
	)
}
