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

// Longer is a slice that got longer, as it seems without types.
type Longer = newborn.Longer

// WatchSlices remembers the slices that there are now. It takes some 4 ms for 15 MB. What
// cannot be done is an *snapshot.Unavailable.
func WatchSlices(ctx context.Context, logf func(string, ...any)) (_ *Slices, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	layout, err := newbornLayout(ctx, logf)
	if err != nil {
		return nil, err
	}
	return &Slices{newborn.NewSlices(layout)}, nil
}

// Longer returns slices to which each of so many calls since WatchSlices has added the same number
// of elements, within their array or with a new one.
func (s *Slices) Longer(calls int) (found []Longer, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	return s.of.Longer(calls), nil
}
