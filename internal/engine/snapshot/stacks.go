package snapshot

import (
	"runtime"
	"time"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/image"
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
	process, err := s.take(func() bool { return true })
	if err != nil {
		return freezeError(err)
	}
	defer func() { _ = process.Close() }()
	pc, sp := process.Caller()
	caller := goruntime.Caller{G: uint64(process.CallerG()), PC: uint64(pc), SP: uint64(sp)}
	m, err := goruntime.LoadStacks(image.NewSpace(process), x, bias, runtime.GOARCH, caller)
	if err != nil {
		return ModelError(err)
	}
	return read(m, x, process.Pause())
}
