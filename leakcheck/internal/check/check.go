// Package check says what a check is, and what it finds.
package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A Check judges one part of what an assertion was asked for.
type Check interface {
	// Problems says what makes no sense in the request, before anything is looked at.
	Problems(*request.Request) []string
	// Needs says what the check looks at. It is asked once, before the first snapshot.
	Needs() observe.Needs
	// Evaluate judges what was seen in one snapshot.
	Evaluate(*Seen) []Finding
}

// Seen is one observation, narrowed to what counts for a request.
type Seen struct {
	*observe.Observation
	Everything tree.Forest // all but the tool's own
	Now        tree.Forest // in scope, not ignored
	Base       tree.Forest // the same of the baseline
	Forest     tree.Forest // of now, what goes beyond the baseline
	Ignored    []tree.Ignored
	Census     goroutine.Census // of the goroutines; nil without stacks

	doubt error // why who holds native memory is not known in full, where it was asked for
}

// A Finding is what one snapshot says about one bound, one line of a golden file, or one thing that
// grows.
type Finding struct {
	Shown  string // what it is about, as written in the test
	Amount string // what was found, and how much of it is too much
	Broken bool
	Record verdict.Bound // without a verdict, and without a place where culprits say it

	Problem string // why the assertion is wrong: what it is about does not exist
	Unknown error  // why it cannot be told
	// why it may be broken though it does not seem so; nobody asks if something else is broken
	Doubt error
	Notes []string // for the log

	Line *golden.Difference // of a golden file; nil: it is about something else

	// On the heap:
	Culprits []*tree.Branch         // what counts towards it, the largest first
	Below    bool                   // with all below, not by themselves
	Weight   func(tree.Tally) int64 // what it is about: objects, or bytes
	Freed    bool                   // what cutting would free is part of it
	Native   bool                   // with what would go of C's malloc

	// Of goroutines:
	Crews goroutine.Census // what counts towards it, the largest first
	// it is about the frames that this means; nil: about goroutines
	Frames *naming.Pattern
	Leaked []*refscan.LeakedGoroutine // it is about these

	// blocks of C's malloc that count towards it, with others of the same sizes; nil: it is about
	// something else
	Blocks func(nativeheap.Block) bool

	Detail []string // lines of the message, of what is neither on the heap nor a goroutine
}

// An Evaluation is a request judged by one snapshot.
type Evaluation struct {
	*Seen
	Findings []Finding
}

// Evaluate asks checks what they find. Where those have nothing to say about the heap, it is not
// narrowed.
func Evaluate(obs *observe.Observation, r *request.Request, s tree.Scope, checks []Check) *Evaluation {
	e := &Evaluation{Seen: narrow(obs, r, s)}
	for _, c := range checks {
		e.Findings = append(e.Findings, c.Evaluate(e.Seen)...)
	}
	return e
}

// narrow applies scope, ignores and baseline to an observation.
func narrow(obs *observe.Observation, r *request.Request, s tree.Scope) *Seen {
	report, doubt := obs.Report, error(nil)
	if r.Native && obs.Native != nil {
		report, doubt = obs.WithNative(), obs.Native.Err
	}
	e := &Seen{Observation: obs, Everything: tree.GrowForest(report), doubt: doubt}
	e.Now, e.Ignored = tree.ApplyIgnores(e.Everything.Keep(s), r.Ignores)
	e.Forest = e.Now
	if r.Baseline != nil {
		e.Base, _ = tree.ApplyIgnores(r.Baseline.Forest.Keep(s), r.Ignores)
		e.Forest = e.Now.Growth(e.Base)
	}
	if obs.Stacks != nil {
		e.Census = goroutine.TakeCensus(obs.Stacks.Goroutines)
	}
	return e
}

// Broken counts the bounds that do not hold, of all, and says what the first is broken by.
func (e *Evaluation) Broken() (broken, all int, first string) {
	for i := range e.Findings {
		f := &e.Findings[i]
		if f.Shown == "" && f.Line == nil {
			continue
		}
		all++
		if f.Broken {
			broken++
			first = cmp.Or(first, f.headline())
		}
	}
	return broken, all, first
}

// headline says in one line what was found.
func (f *Finding) headline() string {
	if f.Line != nil {
		return f.Line.String()
	}
	return f.Shown + ": " + f.Amount
}

// BreaksNative reports whether a bound on native memory does not hold.
func (e *Evaluation) BreaksNative() bool {
	return slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.Broken && f.Blocks != nil })
}

func (e *Evaluation) Ok() bool {
	return len(e.Problems()) == 0 && !slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.Broken })
}

// Problems says why the assertion is wrong: what it names does not exist.
func (e *Evaluation) Problems() []string {
	var problems []string
	for i := range e.Findings {
		if p := e.Findings[i].Problem; p != "" {
			problems = append(problems, p)
		}
	}
	return problems
}

// Notes is for the log.
func (e *Evaluation) Notes() []string {
	notes := slices.Clone(e.Logs)
	for i := range e.Findings {
		notes = append(notes, e.Findings[i].Notes...)
	}
	return notes
}

// Unknown returns why something cannot be told.
func (e *Evaluation) Unknown() error {
	for i := range e.Findings {
		if err := e.Findings[i].Unknown; err != nil {
			return err
		}
	}
	return nil
}

// Doubt returns why something may be broken, if nothing clearly is.
func (e *Evaluation) Doubt() error {
	if !e.Ok() {
		return nil
	}
	if e.doubt != nil { // another snapshot may tell
		return e.doubt
	}
	for i := range e.Findings {
		if err := e.Findings[i].Doubt; err != nil {
			return err
		}
	}
	return nil
}

// A ScopeCheck finds Scope and Ignore options that mean nothing.
type ScopeCheck struct{ Req *request.Request }

func (c ScopeCheck) Problems(*request.Request) []string { return nil }

func (c ScopeCheck) Needs() observe.Needs {
	return observe.Needs{Heap: true, Names: len(c.Req.Scope) > 0 || len(c.Req.Ignores) > 0 || c.Req.Baseline != nil}
}

func (c ScopeCheck) Evaluate(s *Seen) []Finding {
	var all []Finding
	for _, i := range s.Ignored {
		note := "ignored: " + i.String()
		if i.Paths == 0 {
			note = fmt.Sprintf("Ignore(%q) matched nothing; it can be deleted", i.Pattern.Text)
		}
		all = append(all, Finding{Notes: []string{note}})
	}
	for _, ps := range c.Req.Scope {
		if !(&tree.Scope{Packages: []naming.Packages{ps}}).IncludesAny(s.Everything) && !ps.Known(s.Names) {
			all = append(all, Finding{Problem: fmt.Sprintf("Scope(%q): the program has no such package", ps[0].Text)})
		}
	}
	return all
}

// SinceBesideNative is why Since does not go with who holds native memory.
const SinceBesideNative = "Since beside NativeMemory().Recorded(): a baseline does not say who holds native memory; use two assertions"

// SinceBesideRetained is why Since does not go with what cutting would free.
const SinceBesideRetained = "Since beside a bound or line on what is retained: a baseline does not say what cutting would free; use two assertions"

// Trace leads to where most of the largest culprit sits.
func (f *Finding) Trace() *tree.Trace {
	t := tree.TraceTo(f.Culprits[0], f.Below, f.Weight)
	if t.Freed = f.Freed && (f.Below || !f.Native); f.Native {
		t.Cut = f.Culprits[0]
	}
	return t
}

// WorstLine returns the line of a golden file that what was found is farthest beyond, nil if all
// hold.
func (e *Evaluation) WorstLine() *Finding {
	var worst *Finding
	for i := range e.Findings {
		f := &e.Findings[i]
		switch {
		case f.Line == nil:
		case worst == nil, f.Line.ObjectsOver > worst.Line.ObjectsOver,
			f.Line.ObjectsOver == worst.Line.ObjectsOver && f.Line.BytesOver > worst.Line.BytesOver:
			worst = f
		}
	}
	return worst
}
