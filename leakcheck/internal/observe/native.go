package observe

import (
	"context"

	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/refscan"
)

// NativeHolders takes a snapshot of this process, and finds who holds the blocks of C's malloc that
// is returns true for. ctx bounds the wait for debug information. What cannot be done is an error.
func NativeHolders(ctx context.Context, is func(nativeheap.Block) bool) (_ *nativeholders.Result, err error) {
	Observing.Lock()
	defer Observing.Unlock()
	s, err := Capture(refscan.WithContext(ctx), refscan.WithoutSettling())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := nativeholders.Find((*snapshot.Snapshot)(s.Snapshot), is)
	return r, public(err)
}
