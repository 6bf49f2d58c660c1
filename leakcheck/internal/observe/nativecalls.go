package observe

import (
	"context"
	"errors"

	"github.com/leakgate/leakgate/internal/engine/nativecalls"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
)

// NativeCalls are the calls by which C code got memory that it has not given back.
type NativeCalls struct {
	Base, Last []nativecalls.Stack // after a batch, and after another one like it
	Lost       int64               // calls that could not be recorded
	WithoutGo  error               // why they have no stacks of Go code; nil if they have
}

// ErrBatch says that a batch did not come to its end.
var ErrBatch = errors.New("op failed")

// RecordNativeCalls calls batch twice, and records the calls of C code in it, each of which takes about a microsecond
// more. It collects garbage after each, so that finalizers give back what they do. Errors are ErrBatch,
// *nativecalls.UnknownError, and that of ctx.
func RecordNativeCalls(ctx context.Context, batch func() bool) (*NativeCalls, error) {
	Observing.Lock()
	defer Observing.Unlock()
	r, err := nativecalls.Find()
	if err != nil {
		return nil, err
	}
	n := &NativeCalls{}
	var names rtlayout.Names
	var bias uint64
	index, err := snapshot.OpenIndex(ctx, func(string, ...any) {})
	if err == nil {
		names = index
		bias, err = snapshot.LoadBias(index)
	}
	if err != nil {
		names, n.WithoutGo = nil, err
	}
	err = r.Start(names, bias)
	defer r.Stop()
	if u := (*nativecalls.UnknownError)(nil); errors.As(err, &u) {
		return nil, err
	} else if err != nil {
		n.WithoutGo = err
	}
	for _, to := range []*[]nativecalls.Stack{&n.Base, &n.Last} {
		if !batch() {
			return nil, ErrBatch
		}
		if err := snapshot.Collect(ctx); err != nil {
			return nil, err
		}
		*to = r.Stacks()
	}
	n.Lost = r.Lost()
	return n, nil
}
