package wording

import (
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// allocatedAt says where most of what the last branch of a trace gained was allocated.
func (w *Wording) allocatedAt(t *tree.Trace) []string {
	if w.Recorded == nil {
		return message.AllocatedAt(t, w.Env)
	}
	key := t.Last().GrowthKey()
	var records []refscan.Allocation
	w.Last().Forest.All(func(b *tree.Branch) bool {
		if b.GrowthKey() == key {
			records = append(records, b.Allocations...)
		}
		return true
	})
	// What was recorded before is a sample, taken at random.
	w.Recorded.Forest.All(func(b *tree.Branch) bool {
		if b.GrowthKey() == key {
			for _, a := range b.Allocations {
				a.Objects = -a.Objects
				records = append(records, a)
			}
		}
		return true
	})
	added := w.Last().Figures()[key][history.InObjects] - w.Recorded.Figures()[key][history.InObjects]
	return message.WhereAllocated(records, added, w.Env)
}
