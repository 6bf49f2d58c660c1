// Package finding finds what grows in the snapshots of an experiment: leaks on the heap, goroutines
// that pile up, and resources of the operating system.
package finding

import (
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// A Finder compares the snapshots of a history.
type Finder struct {
	*History
	Req     *request.Request
	Holders *NativeHolders // nil: native memory did not grow before the last batch

	// of the objects at a branch, by their numbers; nil: they were not read
	Descriptors map[tree.GrowthKey][]int
}

// NativeHolders records the holders of the native blocks that one batch added.
type NativeHolders struct {
	Before []native.Block // blocks from before the batch, sorted by address
	Calls  int64          // of op before the batch
	UpTo   int64          // of op when the holders were found
	Found  *native.Holders
	Err    error // why the holders are not known
}
