package wording

import (
	"fmt"
	"math"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// allocatedAt lists the stacks that allocated most of the growth of the branch that the title
// names, and of a trace's last branch if that is another one.
func (w *Wording) allocatedAt(t *tree.Trace, titled *tree.Branch) []string {
	lines := w.allocated(titled, "")
	if last := t.Last(); last != titled {
		lines = append(lines, w.allocated(last, message.TypeText(last))...)
	}
	return lines
}

// allocated lists the stacks that allocated most of the growth of a branch. of is the type of its
// objects, "" if the title has it.
func (w *Wording) allocated(b *tree.Branch, of string) []string {
	if w.Recorded == nil {
		return message.AllocatedAt(b, of, w.Env)
	}
	key := b.GrowthKey()
	added := w.Last().Figures()[key][history.InObjects] - w.Recorded.Figures()[key][history.InObjects]
	lines := message.WhereAllocated(w.recordsOf(b), w.RecordedShare(added), of, w.Env)
	if lines == nil && !w.RecordedAll {
		where := "where it is allocated is not known"
		if of != "" {
			where = "where " + of + " is allocated is not known"
		}
		lines = []string{"", where + ": " + w.recordedCut()}
	}
	return lines
}

// recordedCut says how many calls were recorded, where time was over before all were.
func (w *Wording) recordedCut() string {
	return fmt.Sprintf("op is slow while its allocations are recorded, so that %d of the last %s were",
		w.RecordedCalls, textfmt.CountNoun(w.recordedBatch(), "call"))
}

// recordedBatch is how many calls the batch had whose first ones were recorded.
func (w *Wording) recordedBatch() int64 { return w.Last().Calls - w.Recorded.Calls }

// RecordedShare is how much of what the batch added its recorded calls have, if each call adds as
// much.
func (w *Wording) RecordedShare(added int64) int64 {
	calls := max(1, w.recordedBatch())
	return int64(math.Ceil(float64(added) * float64(w.RecordedCalls) / float64(calls)))
}
