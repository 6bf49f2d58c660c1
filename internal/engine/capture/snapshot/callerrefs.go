package snapshot

import (
	"context"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// CallerReferences returns what the callers of a function refer to now: the pointers in their
// frames that the collector would follow. The function, by its full name, is one on the stack of
// this goroutine that is not inlined. Whoever keeps the result keeps all that alive, even if the
// callers do not use it any more. inFrame says that they also refer to objects that the compiler
// has put into their frames: what these refer to later is garbage when the callers return. The cost
// is that of a snapshot of the stacks.
func CallerReferences(ctx context.Context, function string) (refs []unsafe.Pointer, inFrame bool, err error) {
	config := Config{Context: ctx, Logf: func(string, ...any) {}}
	err = Stacks(config, func(m *goruntime.Model, _ *debuginfo.Index, _ time.Duration) error {
		for _, g := range m.Goroutines {
			if g.IsCaller {
				refs, inFrame, err = outerReferences(m, g, function)
			}
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return refs, inFrame, nil
}

// outerReferences returns the pointers in the frames beyond that of a function. These frames have
// not changed since the snapshot, so that what they refer to has not been freed. What the inner
// ones referred to may have been.
func outerReferences(m *goruntime.Model, g *goruntime.Goroutine, function string) (refs []unsafe.Pointer, inFrame bool, err error) {
	beyond := ^uint64(0)
	err = m.Frames(g, func(f *goruntime.Frame) error {
		if f.Func.Name == function {
			beyond = f.SP
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	err = m.LiveSlots(g, func(s goruntime.Slot) {
		if s.Frame == nil || s.Frame.SP <= beyond || s.Conservative {
			return
		}
		if inFrame = inFrame || (s.End != 0 || s.OnStack) && s.Frame.Func.Package != "testing"; !s.OnStack {
			refs = append(refs, *(*unsafe.Pointer)(unsafe.Pointer(&s.Value)))
		}
	})
	return refs, inFrame, err
}
