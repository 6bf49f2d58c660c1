package growth

import (
	"runtime"

	"github.com/leakgate/leakgate/leakcheck/internal/memprofile"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// recordBatch runs a batch with the memory profiler recording each allocation, so that it can be
// said where what grows is allocated. It is for a batch after which a leak is as good as certain:
// op takes 5 to 40 times as long. Heap profiles of this process show what the batch leaves as many
// times as large as one sample in MemProfileRate bytes stands for, so that the profile of before the
// batch is the one to keep.
//
// It is a batch like others where the profiler is off, or records everything already, and where go
// test is to write a memory profile in the end, which would be wrong by these.
func (x *Experiment) recordBatch(n int) {
	if runtime.MemProfileRate > 1 && !x.Env.MemProfile {
		x.recorded = x.last()
		defer memprofile.SetRate(1)()
	}
	x.runBatch(n)
}

// allocatedAt says where most of what the last branch of a trace gained was allocated.
func (x *Experiment) allocatedAt(t *tree.Trace) []string {
	if x.recorded == nil {
		return message.AllocatedAt(t, x.Env)
	}
	key := t.Last().GrowthKey()
	var records []refscan.Allocation
	x.last().forest.All(func(b *tree.Branch) bool {
		if b.GrowthKey() == key {
			records = append(records, b.Allocations...)
		}
		return true
	})
	// What was recorded before is a sample, taken at random.
	x.recorded.forest.All(func(b *tree.Branch) bool {
		if b.GrowthKey() == key {
			for _, a := range b.Allocations {
				a.Objects = -a.Objects
				records = append(records, a)
			}
		}
		return true
	})
	added := x.last().figures()[key][inObjects] - x.recorded.figures()[key][inObjects]
	return message.WhereAllocated(records, added, x.Env)
}
