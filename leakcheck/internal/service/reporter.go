package service

import (
	"context"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/realtime"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/refscan"
)

// A Reporter is a process that says by itself what it retains. One goroutine at a time uses it.
type Reporter struct {
	name string
	look Look

	report *refscan.Report // the last one
	stacks string          // of its goroutines; "" if they are not known
}

// A Look asks the process for a report, and for the stacks of its goroutines, as runtime.Stack
// writes them; "" if they are not known.
type Look func(context.Context) (report *refscan.Report, stacks string, err error)

// NewReporter returns the process that look asks. Messages say its name.
func NewReporter(name string, look Look) *Reporter { return &Reporter{name: name, look: look} }

// String returns the name of the process in messages.
func (e *Reporter) String() string { return e.name }

// Open does nothing: each request stands for itself.
func (e *Reporter) Open(context.Context) error { return nil }

// Close does nothing.
func (e *Reporter) Close() {}

// Modules are not known.
func (e *Reporter) Modules() *symbol.Modules { return nil }

// Resources lists none: they are not known.
func (e *Reporter) Resources(string) (*ledger.Ledger, error) { return new(ledger.Ledger), nil }

// Malloc has no blocks: they are not known.
func (e *Reporter) Malloc() (*native.Heap, error) { return nil, native.None() }

// Timers visits none: they are not known.
func (e *Reporter) Timers(context.Context, func(proof.Timer)) {}

// settleFor is for how long the process is left alone after a batch of calls.
const settleFor = 50 * time.Millisecond

// AwaitIdle waits a moment: what runs in the process is not known.
func (e *Reporter) AwaitIdle(over func() bool) bool {
	if !over() {
		realtime.Sleep(settleFor)
	}
	return true
}

// Notes say what is not known of the process.
func (e *Reporter) Notes() []string {
	notes := []string{"descriptors, threads, child processes and memory without objects are not known of " + e.String() + "; with the right to trace it, name its process ID"}
	if e.stacks == "" {
		notes = append(notes, "its goroutines count as far as they hold something; to count all, let it import net/http/pprof")
	}
	return notes
}

// Observe asks for one report.
func (e *Reporter) Observe(ctx context.Context, _ observe.Needs) (*observe.Observation, error) {
	report, stacks, err := e.look(ctx)
	if err != nil {
		return nil, &refscan.UnavailableError{
			Cause:  e.String() + " does not say what it retains",
			Remedy: "let it serve a refscanhttp.Handler there, to this machine, and build it without -ldflags=-w", Err: err,
		}
	}
	e.report, e.stacks = report, stacks
	return &observe.Observation{Report: report}, nil
}

// Goroutines counts the goroutines of the last report by origin. Where their stacks are not known,
// those count whose variables hold something.
func (e *Reporter) Goroutines(isProgram func(pkg string) bool) map[goroutine.Origin]goroutine.Pile {
	if e.stacks != "" {
		found := goroutine.Parse(e.stacks, isProgram)
		for origin, g := range found {
			if g.IsOn("net/http/pprof.") { // those that answer the request itself
				if g.Count--; g.Count == 0 {
					delete(found, origin)
				} else {
					found[origin] = g
				}
			}
		}
		return found
	}
	found := make(map[goroutine.Origin]goroutine.Pile)
	for _, n := range e.report.Roots {
		r := n.Root
		if r == nil || r.Kind != refscan.RootFrame || r.Goroutine == "" {
			continue
		}
		origin := goroutine.Origin{Entry: r.Goroutine, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt}
		one := found[origin]
		one.Calls = []goroutine.Call{{Function: r.Func}}
		one.Count = max(one.Count, r.Goroutines)
		found[origin] = one
	}
	return found
}
