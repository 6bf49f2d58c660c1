// Package check has the checks of an assertion and the findings that they return: bounds on the
// heap, on goroutines and stacks, on what the operating system holds for the process, and golden
// files.
package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A Check judges a part of the options of an assertion.
type Check interface {
	// Problems returns what makes no sense in the request, before any snapshot is taken.
	Problems(*request.Request) []string
	// Needs returns what the check reads from a snapshot. It is called once, before the first
	// snapshot.
	Needs() observe.Needs
	// Evaluate judges one snapshot, and adds what it finds to a result.
	Evaluate(*Seen, *Result)
}

// Seen is one observation with the parts of the heap that count for a request.
type Seen struct {
	*observe.Observation
	Everything tree.Forest // all branches but the tool's own
	Now        tree.Forest // in scope, not ignored
	Base       tree.Forest // the same of the baseline
	Forest     tree.Forest // Now with the figures of Base subtracted
	Ignored    []tree.Ignored
	Census     goroutine.Census // of the goroutines; nil without stacks
}

// A Result is what checks say of one snapshot.
type Result struct {
	Findings []Finding
	Golden   *Comparison // with the golden file; nil: the request has bounds
	Problems []string    // why the assertion is wrong: what it names does not exist
	Notes    []string    // for the log
	Unknown  error       // why a finding cannot be judged
	Doubt    error       // why a bound that seems to hold may be broken; ignored if some bound is broken for certain
}

// A Finding is the result of one snapshot for one bound, one line of a golden file, or one thing
// that grows.
type Finding struct {
	Shown  string // the subject, as written in the test
	Amount string // the amount found, and by how much it exceeds the bound
	Broken bool
	Record verdict.Bound // without a verdict, and without a place if Culprits has one

	Line *golden.Difference // of a golden file; nil: the finding is about something else

	Heap

	// Of goroutines:
	Crews goroutine.Census // goroutines that count towards Amount, the largest first
	// the finding is about the frames that match Frames; nil: about goroutines
	Frames *naming.Pattern
	Leaked []*refscan.LeakedGoroutine // the finding is about these goroutines

	// Blocks selects the blocks of C's malloc that count towards the finding, and others of the
	// same sizes; nil: the finding is about something else
	Blocks func(native.Block) bool

	Detail []string // lines of the message on what is neither on the heap nor a goroutine
}

// A Heap is the part of the heap that a finding is about.
type Heap struct {
	Culprits []*tree.Branch         // branches that count towards Amount, the largest first
	Below    bool                   // Culprits count with all below them, not by themselves
	Weight   func(tree.Tally) int64 // the figure that the finding is about: objects, or bytes
	Freed    bool                   // the finding includes what cutting would free
	Native   bool                   // Freed includes blocks of C's malloc
	Held     *observe.Held          // the query that Culprits are of; nil: they are of the report
}

// An Evaluation is the judgement of a request by one snapshot.
type Evaluation struct {
	*Seen
	Result
}

// Evaluate selects the parts of an observation that count for a request, and runs the checks on
// them.
func Evaluate(obs *observe.Observation, r *request.Request, s tree.Scope, checks []Check) *Evaluation {
	seen, doubt := narrow(obs, r, s)
	e := &Evaluation{seen, Result{Notes: slices.Clone(obs.Logs), Doubt: doubt}}
	for _, c := range checks {
		c.Evaluate(seen, &e.Result)
	}
	if !e.Ok() {
		e.Doubt = nil
	}
	return e
}

// narrow applies scope, ignores and baseline to an observation. doubt is why the holders of native
// memory are not known in full, if the request asks for them: another snapshot may show them.
func narrow(obs *observe.Observation, r *request.Request, s tree.Scope) (e *Seen, doubt error) {
	report := obs.Report
	if r.Native && obs.Native != nil {
		report, doubt = obs.Native.In(obs.Report), obs.Native.Err
	}
	e = &Seen{Observation: obs, Everything: tree.GrowForest(report)}
	e.Now, e.Ignored = tree.ApplyIgnores(e.Everything.Keep(s), r.Ignores)
	e.Forest = e.Now
	if r.Baseline != nil {
		e.Base, _ = tree.ApplyIgnores(r.Baseline.Forest.Keep(s), r.Ignores)
		e.Forest = e.Now.Growth(e.Base)
	}
	if obs.Stacks != nil {
		e.Census = goroutine.TakeCensus(obs.Stacks.Goroutines)
	}
	return e, doubt
}

// Broken returns how many bounds and golden-file lines do not hold, and the headline of the first.
func (e *Evaluation) Broken() (broken int, first string) {
	for i := range e.Findings {
		if f := &e.Findings[i]; f.Broken {
			broken++
			first = cmp.Or(first, f.headline())
		}
	}
	return broken, first
}

// headline returns the subject and the amount in one line.
func (f *Finding) headline() string {
	if f.Line != nil {
		return f.Line.String()
	}
	return f.Shown + ": " + f.Amount
}

// Unscanned reports whether a bound on native memory does not hold, and no heap scan was needed to
// tell, though a scan would show what is wrong.
func (e *Evaluation) Unscanned() bool {
	return e.Names == nil && slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.Broken && f.Blocks != nil })
}

func (e *Evaluation) Ok() bool {
	return len(e.Problems) == 0 && !slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.Broken })
}

// A ScopeCheck finds Scope and Ignore options that match nothing.
type ScopeCheck struct {
	Req        *request.Request
	Goroutines bool // Ignore leaves out goroutines, too
}

func (c ScopeCheck) Problems(*request.Request) []string { return nil }

func (c ScopeCheck) Needs() observe.Needs {
	return observe.Needs{Heap: true, Stacks: c.Goroutines && len(c.Req.Ignores) > 0}
}

func (c ScopeCheck) Evaluate(s *Seen, r *Result) {
	if c.Goroutines {
		s.ignoreGoroutines()
	}
	for _, i := range s.Ignored {
		note := "ignored: " + i.String()
		if i.IsNothing() {
			note = UselessIgnore(i.Pattern.Text)
		}
		r.Notes = append(r.Notes, note)
	}
	for _, ps := range c.Req.Scope {
		if !(&tree.Scope{Packages: []naming.Packages{ps}}).IncludesAny(s.Everything) && !ps.Known(s.Names) {
			r.Problems = append(r.Problems, fmt.Sprintf("Scope(%q): the program has no such package%s", ps[0].Text,
				naming.DidYouMean(ps[0].Text, s.Names.RootNames(), symbol.Package)))
		}
	}
}

// UselessIgnore is the note on an Ignore that matched nothing.
func UselessIgnore(pattern string) string {
	return fmt.Sprintf("Ignore(%q) matched nothing; it can be deleted", pattern)
}

// ignoreGoroutines counts the goroutines that each Ignore names, and their stacks.
func (s *Seen) ignoreGoroutines() {
	for _, c := range s.Census {
		if i := slices.IndexFunc(s.Ignored, func(i tree.Ignored) bool { return c.IsAt(i.Pattern) }); i >= 0 {
			s.Ignored[i].Goroutines += int64(c.Count)
			s.Ignored[i].Stacks += c.Stack
		}
	}
}

// SinceBesideNative says why Since does not go with lines on who holds native memory.
const SinceBesideNative = "Since beside NativeMemory().Recorded(): a baseline does not say who holds native memory; use two assertions"

// SinceBesideRetained says why Since does not go with bounds or lines on what cutting would free.
const SinceBesideRetained = "Since beside a bound or line on what is retained: a baseline does not say what cutting would free; use two assertions"

// Trace returns the path to the branch that has most of the first culprit.
func (f *Finding) Trace() *tree.Trace {
	t := tree.TraceTo(f.Culprits[0], f.Below, f.Weight)
	if f.Held != nil {
		t.Of = f.Held.Query
	}
	if t.Freed = f.Freed && (f.Below || !f.Native); f.Native {
		t.Cut = f.Culprits[0]
	}
	return t
}

// WorstLine returns the finding of the golden-file line that is exceeded by most objects, or by
// most bytes among lines with the same excess of objects. It returns nil if all lines hold.
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
