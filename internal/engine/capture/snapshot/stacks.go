package snapshot

import (
	"runtime"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Stacks freezes this process as it is and calls read with a model of its goroutines and the used
// part of their stacks. The model is invalid after read returns. See refscan.CaptureStacks.
func Stacks(config Config, read func(*goruntime.Model, *debuginfo.Index, time.Duration) error) (err error) {
	captures.Lock()
	defer captures.Unlock()
	defer Guard(&err)()

	if err := checkMemory(need(0, indexReading, 0)); err != nil {
		return err
	}
	x, err := OpenIndex(config.Context, config.Logf)
	if err != nil {
		return err
	}
	bias, err := LoadBias(x)
	if err != nil {
		return err
	}
	s := &Snapshot{index: x, bias: bias}
	defer func() { _ = s.Close() }()
	m, err := s.loadStacks()
	if s.avoidFork(err) {
		m, err = s.loadStacks()
	}
	if err != nil {
		return err
	}
	return read(m, x, s.process.Pause())
}

// loadStacks freezes the process and reads its goroutines.
func (s *Snapshot) loadStacks() (_ *goruntime.Model, err error) {
	if s.process, err = s.take(func() bool { return true }); err != nil {
		return nil, freezeError(err)
	}
	pc, sp := s.process.Caller()
	caller := goruntime.Caller{G: uint64(s.process.CallerG()), PC: uint64(pc), SP: uint64(sp)}
	m, err := goruntime.LoadStacks(image.NewSpace(s.process), s.index, s.bias, runtime.GOARCH, caller)
	if err != nil {
		return nil, ModelError(err)
	}
	return m, nil
}
