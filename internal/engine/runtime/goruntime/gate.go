package goruntime

import (
	"errors"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// A Gate tells whether this is a good moment to copy a process that something else has stopped. It
// is not safe for concurrent use.
type Gate struct {
	m *Model
}

// ErrUnsafePoint says that a goroutine's stack is being moved, or that the goroutine's position is
// not known. That is over in microseconds.
var ErrUnsafePoint = errors.New("a thread was where its goroutine's registers are not known, or was moving its stack")

// IsTransient reports whether an error of a Gate is over soon, so that it makes sense to let the
// process go on and to stop it again.
func IsTransient(err error) bool {
	return errors.Is(err, ErrUnsafePoint) || errors.Is(err, ErrCollecting)
}

// NewGate reads the data that does not change while a process runs.
func NewGate(mem *image.Space, names *debuginfo.Index, bias uint64, goarch string) (*Gate, error) {
	m, err := newModel(mem, names, bias, goarch)
	if err != nil {
		return nil, err
	}
	m.stopped = true
	_, m.raceDetector = names.GlobalByName("runtime.racedatastart")
	return &Gate{m}, nil
}

// Check returns ErrUnsafePoint if this is no good moment, and other errors if it cannot tell. It
// reads some words for each thread. Nothing may have been read from mem before the process was
// stopped: mem keeps what it has read.
func (g *Gate) Check(mem *image.Space, threads []Thread) error {
	g.m.Mem = mem
	placed, err := g.m.place(threads)
	if err != nil {
		return err
	}
	for gp, p := range placed {
		if s := mem.U32(gp + uint64(g.m.g.Status)); p.positionUnknown || s == rtlayout.Copystack || s&rtlayout.Scanning != 0 {
			return ErrUnsafePoint
		}
	}
	return mem.Err()
}

// SignalStack returns the bounds of the signal stack of a stopped thread: the one that has sp on
// its goroutine's stack or on its g0 stack. It returns 0 and 0 if there is none, or if it cannot
// tell.
func (g *Gate) SignalStack(mem *image.Space, sp uint64) (lo, hi uint64) {
	m := g.m
	m.Mem = mem
	err := m.eachThread(func(mp, gp uint64) bool {
		signal := mem.U64(mp + m.thread.Signal)
		if m.on(sp, signal) || !m.on(sp, gp) && !m.on(sp, mem.U64(mp+m.thread.G0)) {
			return true
		}
		lo, hi = m.stack(signal)
		return false
	})
	if err != nil {
		return 0, 0
	}
	return lo, hi
}

// Resting returns ErrCollecting while the collector marks, or the world is stopped for it: in
// these cases the next collection that ends has begun before this moment. It may be called after
// Check, for the same stop.
func (g *Gate) Resting() error {
	m := g.m
	if m.Mem.U32(uint64(m.variables.Phase)) != 0 || m.Mem.U8(uint64(m.variables.Waiting)) != 0 {
		return ErrCollecting
	}
	return m.Mem.Err()
}
