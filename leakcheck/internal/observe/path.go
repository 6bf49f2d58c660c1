package observe

import (
	"context"

	"github.com/leakgate/leakgate/refscan"
)

// PathsTo takes a snapshot of this process and returns the shortest path to each of the objects at the
// addresses: nil for what is not on the heap, and for what only this tool, or references that ignore
// leaves out, hold. What cannot be done is a *refscan.UnavailableError.
func PathsTo(ctx context.Context, addresses []uintptr, ignore func(holder, name string) bool) (paths []*refscan.RetainingPath, err error) {
	Observing.Lock()
	defer Observing.Unlock()
	s, err := refscan.Capture(refscan.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	paths = make([]*refscan.RetainingPath, len(addresses))
	for i, addr := range addresses {
		switch r, err := s.Paths(addr, refscan.PathQuery{Ignore: ignore}); {
		case err == refscan.ErrNotOnHeap, err == refscan.ErrNotAlive:
		case err != nil:
			return nil, err
		case len(r.Paths) > 0:
			paths[i] = &r.Paths[0]
		}
	}
	return paths, nil
}
