// Package finding finds what grows: leaks on the heap, goroutines that pile up, and resources of
// the operating system.
package finding

import (
	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Finder compares the snapshots so far.
type Finder struct {
	*history.History
	Req     *request.Request
	Holders *NativeHolders // nil: native memory did not grow before the last batch
}

// NativeHolders has the holders of the native blocks that came with a batch.
type NativeHolders struct {
	Before []nativeheap.Block // by address, those before the batch
	Calls  int64              // of op, before it
	UpTo   int64              // and when the holders were found
	Found  *nativeholders.Result
	Err    error // why they are not known
}
