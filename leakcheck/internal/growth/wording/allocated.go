package wording

import (
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// allocatedAt lists the stacks that allocated most of the growth of a trace's last branch.
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
	// Allocations from before that batch were recorded as a random sample, so they do not count.
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
