package alloc

import (
	"cmp"
	"slices"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
)

// A Function is what a function of the module under test allocates at both revisions, in one run of
// each, including what functions of other modules allocate for it.
type function struct {
	Name    string
	Objects compare.Change
	Bytes   compare.Change
	// The line of the function that allocates most at the new revision; "" and 0 if there is none.
	File string
	Line int64
}

// changedFunctions compares one run of each revision by function, the largest growth first; lines
// move from one revision to the next. Runs are by allocrun.Binary.Run.
func changedFunctions(before, after *allocrun.Result) []*function {
	of := make(map[string]*function)
	var all []*function
	add := func(sites []*allocrun.Site, side func(*compare.Change) *compare.Series) {
		for _, s := range sites {
			f := of[s.Func]
			if f == nil {
				f = &function{
					Name:    s.Func,
					Objects: compare.Change{Old: compare.Series{0}, New: compare.Series{0}},
					Bytes:   compare.Change{Old: compare.Series{0}, New: compare.Series{0}},
				}
				of[s.Func] = f
				all = append(all, f)
			}
			(*side(&f.Objects))[0] += s.Objects
			(*side(&f.Bytes))[0] += s.Bytes
		}
	}
	add(before.Sites, func(c *compare.Change) *compare.Series { return &c.Old })
	add(after.Sites, func(c *compare.Change) *compare.Series { return &c.New })
	for _, s := range after.Sites { // the most objects first
		if f := of[s.Func]; f.File == "" {
			f.File, f.Line = s.File, s.Line
		}
	}
	slices.SortStableFunc(all, func(a, b *function) int {
		return cmp.Or(cmp.Compare(b.Objects.Delta(), a.Objects.Delta()), cmp.Compare(b.Bytes.Delta(), a.Bytes.Delta()), cmp.Compare(a.Name, b.Name))
	})
	return all
}
