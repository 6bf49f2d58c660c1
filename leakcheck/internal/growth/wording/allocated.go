package wording

import (
	"fmt"
	"math"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
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
	if w.Process != "" {
		return w.sampled(b, of)
	}
	if w.Recorded == nil {
		return message.AllocatedAt(b, of, w.Env)
	}
	key := b.GrowthKey()
	added := w.Last().Figures()[key][finding.InObjects] - w.Recorded.Figures()[key][finding.InObjects]
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

// sampled lists the stack that allocated most of a branch in another process, by the samples of its
// memory profiler.
func (w *Wording) sampled(b *tree.Branch, of string) []string {
	lines := message.WhereAllocated(b.Allocations, b.Objects, of, w.Env)
	if lines == nil {
		w.unsampled = w.unsampled || b.Objects > 0
		return nil
	}
	lines[1] = strings.TrimSuffix(lines[1], ":") + ", by the samples of its memory profiler:"
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

// recordsOf returns how often each stack allocated objects of a branch in the recorded batch, as
// far as they are alive. Allocations from before that batch are subtracted, since those were
// recorded as a random sample.
func (w *Wording) recordsOf(b *tree.Branch) []refscan.Allocation {
	before := w.Recorded
	if before == nil && w.Env.AllAllocations {
		before = w.First()
	}
	if before == nil {
		return nil
	}
	key := b.GrowthKey()
	var records []refscan.Allocation
	add := func(m *finding.Snapshot, sign int64) {
		m.Forest.All(func(b *tree.Branch) bool {
			if b.GrowthKey() == key {
				for _, a := range b.Allocations {
					a.Objects, a.Bytes = sign*a.Objects, sign*a.Bytes
					records = append(records, a)
				}
			}
			return true
		})
	}
	add(w.Last(), 1)
	add(before, -1)
	return records
}
