package alloc

import (
	"slices"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/allocrun"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
)

// A function is what a function of the module under test allocates at both revisions, in one run of
// each, including what functions of other modules allocate for it.
type function struct {
	*compare.Row
	// The line of the function that allocates most at the new revision; "" and 0 if there is none.
	File string
	Line int64
}

// changedFunctions compares one run of each revision by function, the largest growth first; lines
// move from one revision to the next. Runs are by allocrun.Binary.Run.
func changedFunctions(before, after *allocrun.Result) (all []*function) {
	tally := compare.NewTally(1)
	for side, r := range []*allocrun.Result{before, after} {
		for _, s := range r.Sites {
			tally.Add("", s.Func, side, 0, s.Objects, s.Bytes)
		}
	}
	slices.SortStableFunc(tally.Rows, compare.ByGrowth)
	for _, row := range tally.Rows {
		f := &function{Row: row}
		is := func(s *allocrun.Site) bool { return s.Func == row.Name && s.File != "" }
		if i := slices.IndexFunc(after.Sites, is); i >= 0 { // the most objects first
			f.File, f.Line = after.Sites[i].File, after.Sites[i].Line
		}
		all = append(all, f)
	}
	return all
}
