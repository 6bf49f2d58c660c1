package snapshot

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/root"
	"github.com/leakgate/leakgate/internal/symbol"
)

// OfStopped makes a snapshot of the model of a process that something else stopped. The snapshot's Close calls release.
func OfStopped(model *goruntime.Model, index *debuginfo.Index, modules *symbol.Modules, pause time.Duration, release func() error) *Snapshot {
	return &Snapshot{
		model: model, index: index, names: index, pause: pause, release: release,
		// Memory of this tool, if the process uses it, is memory like any other.
		stopped: &root.Program{Modules: modules},
	}
}

// Program says whose the packages and goroutines of the frozen process are.
func (s *Snapshot) Program() root.Program {
	if s.stopped != nil {
		return *s.stopped
	}
	return ThisProgram()
}

// Stopped reports whether something else stopped the process.
func (s *Snapshot) Stopped() bool { return s.stopped != nil }
