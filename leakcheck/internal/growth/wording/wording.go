// Package wording puts into words what grows: for a message, the log, and the record of a verdict.
package wording

import (
	"github.com/leakgate/leakgate/internal/nativestack"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
)

// A Wording says what a Finder has found.
type Wording struct {
	*finding.Finder
	Batches  []int             // calls of op in each, without the warm-up
	Recorded *history.Snapshot // before the batch of which each allocation was recorded; nil: there was none

	RecordsNative bool         // calls that allocate native memory can be recorded
	Native        *NativeCalls // nil: nothing was to be found out about them
}

// NativeCalls has the calls that allocate the native memory that grows.
type NativeCalls struct {
	Calls   int64 // of op in each of the two batches that were recorded
	Answer  *nativestack.Answer
	Unknown string // why there is none, else ""
}
