package observe

import (
	"context"

	"github.com/leakgate/leakgate/refscan"
)

// InSnapshot takes a snapshot of this process and has it used. What cannot be done is a
// *refscan.UnavailableError.
func InSnapshot(ctx context.Context, logf func(string, ...any), use func(*refscan.Snapshot) error) (err error) {
	Observing.Lock()
	defer Observing.Unlock()
	s, err := refscan.Capture(refscan.WithContext(ctx), refscan.WithLog(logf))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	return use(s)
}

// PathsTo takes a snapshot of this process and returns the shortest path to each of the objects at the
// addresses: nil for what is not on the heap, and for what only this tool, or references that ignore
// leaves out, hold. Errors are those of InSnapshot.
func PathsTo(ctx context.Context, addresses []uintptr, ignore func(holder, name string) bool) ([]*refscan.RetainingPath, error) {
	paths := make([]*refscan.RetainingPath, len(addresses))
	err := InSnapshot(ctx, func(string, ...any) {}, func(s *refscan.Snapshot) error {
		for i, addr := range addresses {
			switch r, err := s.Paths(addr, refscan.PathQuery{Ignore: ignore}); {
			case err == refscan.ErrNotOnHeap, err == refscan.ErrNotAlive:
			case err != nil:
				return err
			case len(r.Paths) > 0:
				paths[i] = &r.Paths[0]
			}
		}
		return nil
	})
	return paths, err
}
