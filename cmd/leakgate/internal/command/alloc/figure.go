package alloc

import (
	"fmt"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/compare"
)

// minRuns is the number of runs of each revision that are needed to tell growth from variation:
// with fewer, no two samples differ at benchstat's level of 5 %.
const minRuns = 4

// A figure is a number of objects or bytes, as each run counted it.
type figure struct {
	compare.Change
	noise int64 // how much of it may belong to another row
}

// varies reports whether two runs of one revision differ.
func (f figure) varies() bool { return width(f.Old) > 0 || width(f.New) > 0 }

func width(s compare.Series) int64 { return slices.Max(s) - slices.Min(s) }

// test runs benchstat's test, the Mann-Whitney U test.
func (f figure) test() benchmath.Comparison {
	sample := func(s compare.Series) *benchmath.Sample {
		values := make([]float64, len(s))
		for i, n := range s {
			values[i] = float64(n)
		}
		return benchmath.NewSample(values, &benchmath.DefaultThresholds)
	}
	return benchmath.AssumeNothing.Compare(sample(f.Old), sample(f.New))
}

// change returns by how much a figure differs at the new revision, or 0 if the difference cannot be
// told from variation. A figure that is the same in all runs of a revision is exact. Otherwise the
// difference has to be significant where as many figures as vary are tested at once; or it is
// significant on its own, and the revisions are further apart than their runs.
func (f figure) change(varying int) int64 {
	delta := f.Delta()
	switch {
	case max(delta, -delta) <= f.noise:
		return 0
	case !f.varies():
		return delta
	}
	t := f.test()
	gap := max(slices.Min(f.New)-slices.Max(f.Old), slices.Min(f.Old)-slices.Max(f.New))
	if t.P < t.Alpha/float64(varying) || t.P < t.Alpha && gap > max(width(f.Old), width(f.New)) {
		return delta
	}
	return 0
}

// limit returns how much may be allocated: the most of any old run, plus percent of that or least,
// whichever is more.
func (f figure) limit(percent float64, least int64) int64 {
	most := slices.Max(f.Old)
	return most + max(int64(float64(most)*percent/100), least)
}

// certainty says how sure growth is: "n=6", with p where runs vary.
func (f figure) certainty() string {
	if !f.varies() {
		return fmt.Sprintf("n=%d", len(f.New))
	}
	return f.test().String()
}

// text is "3,000 → 6,000 objects (+100.0 %, p=0.002 n=6)".
func (f figure) text(number func(int64) string, unit string) string {
	old, now := f.Old.Median(), f.New.Median()
	share := "new"
	if old > 0 {
		share = fmt.Sprintf("%+.1f %%", 100*(float64(now)/float64(old)-1))
	}
	return fmt.Sprintf("%s → %s%s (%s, %s)", number(old), number(now), unit, share, f.certainty())
}
