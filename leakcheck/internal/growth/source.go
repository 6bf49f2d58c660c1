package growth

import (
	"context"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

// A Source is the process that an experiment is about, as far as a snapshot does not tell.
type Source struct {
	// Goroutines counts goroutines by origin. isProgram reports whether a package belongs to the
	// program.
	Goroutines func(isProgram func(pkg string) bool) map[goroutine.Origin]goroutine.Pile
	// Objects watches objects, goroutines and timers; nil: nothing is proved without snapshots
	Objects func(ctx context.Context, logf func(string, ...any)) (*proof.Watch, error)
	// Slices records the lengths of slices; nil: the lengths are unknown
	Slices func(ctx context.Context, logf func(string, ...any)) (*proof.Slices, error)
	// Timers calls visit for each timer that is set; nil: they are unknown
	Timers func(ctx context.Context, visit func(proof.Timer))
	// Elsewhere is the process, if it is not the one that calls op; nil: it is
	Elsewhere Elsewhere
}

// Elsewhere is another process.
type Elsewhere interface {
	request.Process
	// Goroutines and Timers are as in a Source. Goroutines are those of the last snapshot.
	Goroutines(isProgram func(pkg string) bool) map[goroutine.Origin]goroutine.Pile
	Timers(ctx context.Context, visit func(proof.Timer))
	// AwaitIdle waits until no goroutine runs or is about to, or until over returns true. It
	// reports whether none runs.
	AwaitIdle(over func() bool) bool
	// Notes are on what does not count.
	Notes() []string
}

// ThisProcess returns the process that calls op.
func ThisProcess() Source {
	return Source{Goroutines: goroutine.CountAll, Objects: proof.StartWatch, Slices: proof.WatchSlices, Timers: proof.EachTimer}
}

// SourceOf returns another process, or this one if p is nil.
func SourceOf(p request.Process) Source {
	if p == nil {
		return ThisProcess()
	}
	other := p.(Elsewhere)
	return Source{Goroutines: other.Goroutines, Timers: other.Timers, Elsewhere: other}
}

// awaitIdle waits until other goroutines have done what calls have left to them, in this process,
// which may still be about to ask the other one for something, and then there.
func (s *Source) awaitIdle(over func() bool) bool {
	idle := snapshot.AwaitIdle(over)
	if s.Elsewhere != nil {
		return s.Elsewhere.AwaitIdle(over)
	}
	return idle
}

// timers returns what calls visit for each timer that is set; nil if they are unknown.
func (s *Source) timers() calls.TimersFunc {
	if s.Timers == nil {
		return nil
	}
	return func(ctx context.Context, visit func(calls.Timer)) {
		s.Timers(ctx, func(t proof.Timer) { visit(calls.Timer(t)) })
	}
}
