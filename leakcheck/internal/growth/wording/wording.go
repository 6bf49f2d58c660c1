// Package wording describes growth in words: for a message, the log, and the record of a verdict.
package wording

import (
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// A Wording describes the findings of a Finder, with what is known beside the snapshots.
type Wording struct {
	finding.Finder
	Each          int64             // calls that one call of op stands for
	Batches       []int             // calls of op in each batch, without the warm-up
	Recorded      *finding.Snapshot // before the batch whose allocations were recorded; nil: none was
	RecordedCalls int               // how many calls of the batch were recorded, its first
	RecordedAll   bool              // as many as were to be

	Content *observe.ContentQuery // in what grew, at the snapshot that was taken for the message

	// the program's calls that made resources of each kind in that batch, or entries of a registry,
	// by the name of the kind or the root, the most frequent first; none where none was found
	Makers map[string][]Maker

	Process   string // that op changes; "": this one
	unsampled bool   // the last message could not say where something is allocated, in that process

	RecordsNative bool         // calls that allocate native memory can be recorded
	Native        *NativeCalls // nil: no calls were to be recorded
}

// A Maker is a call of the program's, and the stack with it, innermost first.
type Maker struct {
	goroutine.Call
	Stack []goroutine.Call
}

// NativeCalls lists the calls that allocate the growing native memory.
type NativeCalls struct {
	Calls   int64 // of op in each of the two batches that were recorded
	Answer  *verdict.NativeAnswer
	Unknown string // why there is no answer, else ""
}
