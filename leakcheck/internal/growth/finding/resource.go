package finding

import (
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A Resource is something of the operating system whose number or size grows with the calls:
// descriptors of one target, child processes of one command.
type Resource struct {
	Kind  ledger.Kind
	Level int    // precision of Name; 0 is exact
	Name  string // "socket to 127.0.0.1:40001"
	State string // that at least three of four are in, else ""
	Own   series.Series

	Native *NativeGrowth // growth by size of C code's memory, else nil

	Holder *tree.Branch // the Go objects that stand for it, nil if there are none
}

// Minimum growth of operating system resources, per call and over all batches, to be taken for a
// leak. Threads and stacks come and go with how busy the program is.
const (
	minThreads        = 8
	MinThreadsPerCall = 0.25
	minMapped         = 64 << 10 // bytes of mappings, over all batches
	MinStack          = 64 << 10 // bytes of stacks, in any number of batches: the runtime takes 32 KiB at a time
)

func (r *Resource) keepsPace() bool {
	own := &r.Own
	grown, rate, all := own.Grown(), own.PerCall(), len(own.Values) > series.Intervals
	if grown <= 0 {
		return false
	}
	switch r.Kind {
	case ledger.Stack:
		// The stacks of goroutines that are over are given back by and by.
		return grown >= MinStack && rate >= series.MinMappedPerCall && own.BytesKeepPace() && !own.Thinned()
	case ledger.Native:
		return (!all || grown >= minBlocks || own.IsExact()) && rate >= series.MinBlocksPerCall && own.CountsKeepPace()
	case ledger.Mapping, ledger.NativeBytes:
		return (!all || grown >= minMapped) && rate >= series.MinMappedPerCall && (own.BytesKeepPace() || own.ChunksKeepPace())
	case ledger.Thread:
		return grown > 1 && (!all || grown >= minThreads) && rate >= MinThreadsPerCall && own.CountsKeepPace()
	case ledger.File:
		return own.IsExact() && own.CountsKeepPace()
	}
	return own.CountsKeepPace()
}

// IsOfC reports whether a resource is memory that C code may have allocated.
func (r *Resource) IsOfC() bool { return r.Native != nil || r.Kind == ledger.Mapping }

// weight estimates the kernel memory that a resource takes, in bytes, so that the resources that do
// most harm come first.
func (r *Resource) weight() int64 {
	each := ledger.Amounts{ledger.Process: 1 << 20, ledger.Descriptor: 2 << 10, ledger.Thread: 16 << 10, ledger.Native: 64, ledger.NativeBytes: 1, ledger.Mapping: 1, ledger.Stack: 1, ledger.File: 1 << 10, ledger.Variable: 64}
	if r.Native != nil {
		return r.Native.Bytes
	}
	return each[r.Kind] * r.Own.Grown()
}

// Amount returns how many were added; 0 for resources that are measured in bytes.
func (r *Resource) Amount() int64 {
	if r.Kind.InBytes() {
		return 0
	}
	return r.Own.Grown()
}

// Minimum growth of C code's memory to be taken for a leak. Libraries keep memory for each thread
// that first calls them, and fill caches.
const (
	minBlocks      = 8 // over all batches, unless each call leaves the same number
	blocksOfThread = 8 // what a library may keep for a thread
	bytesOfThread  = 64 << 10
)

// A NativeGrowth is how the blocks of C code grew, by size.
type NativeGrowth struct {
	Sizes  []BlockSize // the largest first; empty if only bytes grow
	Bytes  int64
	counts []func(m *Snapshot) int64 // the series is the sum of these
}

// A BlockSize is a size, and how many blocks of that size were added. For mapped blocks the size is
// a mean.
type BlockSize struct{ Size, Added int64 }

// count returns how many blocks there were, at one snapshot, of the growing ones.
func (n *NativeGrowth) count(m *Snapshot) (sum int64) {
	if m.Native == nil {
		return 0
	}
	for _, f := range n.counts {
		sum += f(m)
	}
	return sum
}
