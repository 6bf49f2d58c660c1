package proof

import (
	"context"

	"github.com/leakgate/leakgate/internal/engine/capture/liveread"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
)

// Slices records the lengths of this process's slices. It reads memory in place while the program
// runs: all package variables, and the heap if its objects with pointers are 32 MB at most. It is
// for one goroutine at a time.
type Slices struct{ of *liveread.Slices }

// WatchSlices records the slices that exist now. It takes some 4 ms for 15 MB. Errors are of type
// *snapshot.Unavailable.
func WatchSlices(ctx context.Context, logf func(string, ...any)) (_ *Slices, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	layout, err := openLayout(ctx, logf)
	if err != nil {
		return nil, err
	}
	of, err := liveread.NewSlices(layout)
	if err != nil {
		return nil, watchError(err)
	}
	return &Slices{of}, nil
}

// GotLonger reports whether some slice appears to have grown with each of so many calls since
// WatchSlices by the same number of elements, and whether some has grown at all by a number that a
// leak leaves. Both are true if it cannot tell.
func (s *Slices) GotLonger(calls int) (each, some bool, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	each, some = s.of.GotLonger(calls)
	return each, some, nil
}

// Queue returns how many elements each of so many calls since WatchSlices has added to some
// channel, and how many more fit into its buffer; 0 and 0 if there is no such channel.
func (s *Slices) Queue(calls int) (perCall, room int, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	perCall, room = s.of.Queue(calls)
	return perCall, room, nil
}

// WentOn reports whether as many calls again, since GotLonger or since the last WentOn, have made
// one of these slices longer by about as much as the first calls.
func (s *Slices) WentOn() (_ bool, err error) {
	defer snapshot.Turn()()
	defer snapshot.Guard(&err)()
	return s.of.WentOn(), nil
}

// Unwatched returns the size in bytes of the heap's spans with pointers, if they are too large to
// look for slices in them; else 0.
func (s *Slices) Unwatched() int64 { return s.of.Unwatched }
