// Package request has the options of an assertion, as data.
package request

import (
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// Calls says how often an assertion calls its operation, 0 if that is not given. Options that make
// no sense leave a sentence in Problems, which the assertion reports; nothing panics.
type Calls struct {
	Iterations, Warmup int
	Each               int // how many calls each call of the operation stands for; 0: one
	Problems           []string
}

// Problem adds a mistake in the request. Inlined at its calls it would take 8 KB.
//
//go:noinline
func (c *Calls) Problem(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
}

// A Request has the options of one assertion.
type Request struct {
	Calls
	Bounds     []*Bound
	Goroutines []GoroutineOption
	Resources  []ResourceOption
	Recorded   []Selector        // the golden file has lines on what cutting these would free
	Native     bool              // the golden file has lines on who holds native memory
	Scope      []naming.Packages // empty: the default
	Ignores    []tree.Ignoring
	Golden     string    // name given with Golden, "" for the test's own
	Baseline   *Baseline // nil: none
	Full       bool      // every snapshot is scanned
	Process    Process   // nil: this one
	Unscoped   bool      // which packages the process has is not known
}

// Check finds options that make no sense beside others.
func (r *Request) Check() {
	r.checkProcess()
	if r.Golden != "" && r.Bounded() {
		r.Problem("Golden(%q) beside a bound: a golden file is compared only where no bound is given; use two assertions", r.Golden)
	}
	recorded := ""
	switch {
	case len(r.Recorded) > 0:
		recorded = r.Recorded[0].Shown + ".RetainedRecorded()"
	case r.Native:
		recorded = "NativeMemory().Recorded()"
	}
	if recorded != "" && r.Bounded() {
		r.Problem("%s beside a bound: it adds to a golden file, which is compared only where no bound is given; use two assertions", recorded)
	}
}

// Bounded reports whether the request has bounds. Without them it compares with a golden file.
// Inlined at its calls it would take 4 KB.
//
//go:noinline
func (r *Request) Bounded() bool {
	return len(r.Bounds)+len(r.Resources) > 0 || slices.ContainsFunc(r.Goroutines, func(o GoroutineOption) bool { return !o.Recorded() })
}

// NeedsHeap reports whether a report on the heap is asked for: by bounds on it, or for a golden
// file.
func (r *Request) NeedsHeap() bool { return len(r.Bounds) > 0 || !r.Bounded() }

// A Baseline has the retained memory of one moment.
type Baseline struct {
	observe.Artifacts
	Of         string // the name of another process that it is of, "" for this one
	Forest     tree.Forest
	Snapshot   observe.Frozen // nil: it was not kept
	Live       int64          // bytes
	Unknown    error          // why the baseline could not be taken
	Goroutines goroutine.Census
	Resources  *ledger.Ledger
	Native     *native.Heap // blocks that C code had from malloc; nil: NativeErr says why they are not known
	NativeErr  error
}

// Narrow adds packages to the scope.
func (r *Request) Narrow(patterns []string) {
	if len(patterns) == 0 {
		r.Problem("Scope() names no package")
	}
	for _, text := range patterns {
		compiled, err := naming.CompileScope(text)
		if err != nil {
			r.Problem("Scope(%q): %v", text, err)
			continue
		}
		r.Scope = append(r.Scope, compiled)
	}
}

// Ignore leaves out the objects at paths that a pattern matches.
func (r *Request) Ignore(pattern, reason string) {
	p, err := naming.CompilePathPattern(pattern)
	switch {
	case err != nil:
		r.Problem("Ignore(%q): %v", pattern, err)
	case reason == "":
		r.Problem("Ignore(%q): the reason is empty; say why this memory may stay", pattern)
	default:
		r.Ignores = append(r.Ignores, tree.Ignoring{Pattern: p, Reason: reason})
	}
}

// CompareWith sets the name of the golden file.
func (r *Request) CompareWith(name string) {
	switch {
	case name == "":
		r.Problem("Golden(\"\"): the name is empty")
	case r.Golden != "":
		r.Problem("Golden(%q) beside Golden(%q): an assertion compares with one file", name, r.Golden)
	default:
		r.Golden = name
	}
}
