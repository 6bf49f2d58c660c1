package observe

import (
	"context"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// PathsTo takes a snapshot of this process and returns where the objects at the addresses are held:
// for each the shortest path, with the type of its last reference. It is the zero Place for what is
// not on the heap, and for what only this tool, or references that ignore leaves out, hold. What cannot
// be done is a *refscan.UnavailableError.
func PathsTo(ctx context.Context, addresses []uintptr, ignore func(holder, name string) bool) (places []Place, err error) {
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
	places = make([]Place, len(addresses))
	for i, addr := range addresses {
		switch r, err := s.Paths(addr, refscan.PathQuery{Ignore: ignore}); {
		case err == refscan.ErrNotOnHeap, err == refscan.ErrNotAlive:
		case err != nil:
			return nil, err
		case len(r.Paths) > 0:
			places[i] = placeOf(&r.Paths[0])
		}
	}
	return places, nil
}

func placeOf(p *refscan.RetainingPath) Place {
	at := Place{symbol.Unescape(p.Name), naming.CleanType(p.Type)}
	for _, step := range p.Steps {
		if step.Name != "" { // the variable itself
			at.Path = nodename.Join(at.Path, symbol.Unescape(nodename.Fold(step.Name)))
		}
		if step.Type != "" {
			at.Typ = naming.CleanType(step.Type)
		}
	}
	return at
}
