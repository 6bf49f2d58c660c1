// Package trial judges whether anything grows with the number of calls. A trial is a value: the
// history so far, and what follows from the last step's result is the next trial and the next step.
// It calls nothing and takes no snapshot.
package trial

import (
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
)

// A Trial is an experiment so far: its snapshots, what is known beside them, and where it stands.
type Trial struct {
	wording.Wording
	Shared bool // batches end when timers have fired that may work for many calls

	first    int // calls of the first batch
	longer   int // by how many calls the warm-up was longer than that
	restarts int // how often the trial began anew: after a fall, or with batches that fill slices
	suspects []*finding.Leak
	filled   []string // paths of slices that calls made longer before the trial began anew to fill them

	last      Action          // whose result comes next
	grown     *finding.Growth // before Settle
	latest    *Judgement      // that of the last snapshot but for further ones
	drains    error           // goroutines ended one after another during Settle
	remaining []int           // the calls of further batches that are yet to come
}

// maxRestarts bounds how often a trial begins anew.
const maxRestarts = 2

// beginAt has the trial begin anew at a snapshot. The holders of native blocks that were found may
// be those of a batch that does not count any more.
func (t *Trial) beginAt(snapshot int) {
	t.History = t.Since(snapshot)
	t.Holders = nil
}
