package wording

import (
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
	return message.WhereAllocated(w.recordsOf(b), added, of, w.Env)
}
