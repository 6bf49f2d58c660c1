package proof

import (
	"context"

	"github.com/leakgate/leakgate/internal/engine/newborn"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
)

// Slices remembers which slices of this process are how long. It reads memory in place while the
// program runs: all package variables, and the heap where objects with pointers are 32 MB at most. It
// is for one goroutine.
type Slices struct{ of *newborn.Slices }

// WatchSlices remembers the slices that there are now. It takes some 4 ms for 15 MB. What
// cannot be done is an *snapshot.Unavailable.
func WatchSlices(ctx context.Context, logf func(string, ...any)) (_ *Slices, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	layout, err := newbornLayout(ctx, logf)
	if err != nil {
		return nil, err
	}
	of, err := newborn.NewSlices(layout)
	if err != nil {
		return nil, watchError(err)
	}
	return &Slices{of}, nil
}

// GotLonger reports whether there are slices to which each of so many calls since WatchSlices seems to
// have added the same number of elements, or that cannot be told.
func (s *Slices) GotLonger(calls int) (_ bool, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	return s.of.GotLonger(calls), nil
}

// Unwatched returns how many bytes the heap's objects with pointers have, if that is too much to look
// for slices in them; else 0.
func (s *Slices) Unwatched() int64 { return s.of.Unwatched }
