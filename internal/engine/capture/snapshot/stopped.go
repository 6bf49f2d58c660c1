package snapshot

import (
	"errors"
	"time"

	"github.com/leakgate/leakgate/internal/engine/graph/root"
	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// OfStopped makes a snapshot of the model of a process that another program stopped. The snapshot's
// Close calls release.
func OfStopped(model *goruntime.Model, index *debuginfo.Index, modules *symbol.Modules, pause time.Duration, release func() error) *Snapshot {
	model.Watch = watch.Look
	return &Snapshot{
		model: model, index: index, pause: pause, release: release,
		// If the process uses this tool, the tool's memory counts like any other.
		stopped: &root.Program{Modules: modules},
	}
}

// BeginStopped notes how much memory there is before another process is read.
func BeginStopped() { forecast{}.begin() }

// MemoryError turns an error that memory is short or was refused, while another process was read,
// into an *Unavailable; it returns nil for other errors. What the scan takes beside the image is
// known only when that is read; with objects of 24 bytes it is two thirds of it.
func MemoryError(err error) error {
	short := (*headroom.Shortage)(nil)
	if errors.As(err, &short) {
		forecast{tables: short.Needed*2 + fixedBytes}.note()
	}
	return memoryError(err)
}

// Program says which packages and goroutines of the frozen process belong to the program.
func (s *Snapshot) Program() root.Program {
	program := ThisProgram()
	if s.stopped != nil {
		program = *s.stopped
	}
	program.Order, program.Listed = s.order, &s.roots
	return program
}

// Arrange sets the order in which the roots of later scans claim objects.
func (s *Snapshot) Arrange(o root.Order) { s.order, s.roots = o, nil }

// Stopped reports whether another program stopped the process.
func (s *Snapshot) Stopped() bool { return s.stopped != nil }
