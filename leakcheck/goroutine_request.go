package leakcheck

import (
	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

// goroutineChecks are the options of an assertion that are about goroutines and their stacks. They are behind an
// interface, so that a test binary which calls neither Stack nor Goroutines links nothing of what they need.
type goroutineChecks interface {
	names() []string            // all of them, as written
	bounded() bool              // there are bounds among them, not only what is recorded in a golden file
	problems(*request) []string // what makes no sense beside the other options
	// look evaluates them on a snapshot. Without one it takes one of its own, of stacks alone if that is enough.
	look(*refscan.Snapshot, *request) (*goroutineSight, error)
}

// A goroutineSight is what one snapshot says about goroutines.
type goroutineSight struct {
	findings        []goroutineFinding
	problems, notes []string
	measured        []golden.Measurement                                        // lines for the golden file
	failure         func(traced int, env *environment) []string                 // the bounds that are broken, so many with who breaks them
	explain         func(lines []golden.Measurement, env *environment) []string // who makes them
	report          *refscan.Report                                             // of a snapshot without a heap
}

// A goroutineFinding is what was found for one bound.
type goroutineFinding struct {
	shown   string // the bound, as written
	broken  bool
	amount  string // what was found
	explain func(env *environment) []string
	record  verdict.Bound // without a verdict
}

// bounded reports whether the request has bounds; without, it is about a golden file.
//
//go:noinline
func (r *request) bounded() bool {
	return len(r.bounds) > 0 || r.goroutines != nil && r.goroutines.bounded()
}

// needsHeap reports whether a report on the heap is asked for: by bounds on it, or for a golden file.
func (r *request) needsHeap() bool { return len(r.bounds) > 0 || !r.bounded() }
