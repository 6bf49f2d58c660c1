package refscan

import (
	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// Model is the runtime as the snapshot has it.
func (s *Snapshot) Model() *goruntime.Model { return s.model }

// Index is the program's debug information.
func (s *Snapshot) Index() *debuginfo.Index { return s.index }
