package runtests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/finding"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
)

// Where nothing was judged, nothing is said of growth.
func TestCoverage(t *testing.T) {
	o := new(Options)
	o.auto.time = time.Minute
	a := &autoRun{session: &session{options: o}, sorter: finding.NewSorter("", nil)}
	a.uncovered = []drive.Tried{{Name: "TestA", Status: repeat.Untold}}
	require.Equal(t, "covered 0 %: repeated 0 of 1 function in 36 s; 1 not covered: 1 could not tell; -auto-time 3m covers more", a.coverage(36*time.Second))
	a.covered = 2
	require.Equal(t, "repeated 2 of 3 functions in 36 s, nothing grows; 1 not covered: 1 could not tell; -auto-time 3m covers more", a.coverage(36*time.Second))
	a.uncovered = make([]drive.Tried, 98)
	require.Equal(t, "covered 2 %: repeated 2 of 100 functions in 60 s, nothing grows; 98 not covered: 98 without time; -auto-time 3m covers more", a.coverage(time.Minute))
	a.packages, a.undecided = 2, []string{"example.com/m/b"}
	require.Equal(t, "covered 2 %, no verdict on 1 of 2 packages (example.com/m/b)", a.partial())
}
