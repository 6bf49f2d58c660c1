package check

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"sync"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A goroutineCheck judges the options about goroutines and their stacks.
type goroutineCheck struct {
	req  *request.Request
	base goroutine.Census // of the baseline; nil without one
}

func NewGoroutineCheck(r *request.Request) *goroutineCheck {
	c := &goroutineCheck{req: r}
	if r.Baseline != nil {
		c.base = r.Baseline.Goroutines
	}
	return c
}

func (c *goroutineCheck) Problems(r *request.Request) []string {
	var problems []string
	for _, o := range r.Goroutines {
		switch {
		case o.Recorded() && r.Bounded():
			problems = append(problems, o.Written+
				" beside a bound: it adds to a golden file, which is compared only where no bound is given; use two assertions")
		case o.Check == request.CheckLeaked && r.Baseline != nil:
			problems = append(problems, o.Written+
				" beside Since: a baseline does not say which goroutines were leaked; use two assertions, or a narrower pattern")
		}
	}
	if !r.NeedsHeap() && len(r.Scope)+len(r.Ignores) > 0 {
		problems = append(problems, "Scope and Ignore have no effect on goroutines and stacks; narrow the patterns")
	}
	return problems
}

func (c *goroutineCheck) Needs() observe.Needs {
	leaked := slices.ContainsFunc(c.req.Goroutines, func(o request.GoroutineOption) bool { return o.Check == request.CheckLeaked })
	return observe.Needs{Stacks: true, Leaked: leaked}
}

func (c *goroutineCheck) Evaluate(s *Seen, r *Result) {
	for i := range c.req.Goroutines {
		o := &c.req.Goroutines[i]
		if problem := nothingStarts(o, s); problem != "" {
			r.Problems = append(r.Problems, problem)
			continue
		}
		if !knownGoroutine(o, s) {
			r.Problems = append(r.Problems, fmt.Sprintf("%s: the program has no function of that name%s",
				o.Written, naming.DidYouMean(o.Pattern.Text, slices.Collect(s.Functions()), symbol.Unescape)))
			continue
		}
		switch o.Check {
		case request.CheckCount:
			r.Findings = append(r.Findings, goroutineCount(o, s.Census, c.base))
		case request.CheckLeaked:
			r.Findings = append(r.Findings, leakedGoroutines(o, s.Leaked))
		case request.CheckBytes:
			r.Findings = append(r.Findings, stackBytes(o, s.Census, c.base))
			r.Unknown = unwalkable(s.Census)
		}
	}
}

// MeasureGoroutines returns the lines of a golden file on goroutines and stacks.
func MeasureGoroutines(options []request.GoroutineOption, now, base goroutine.Census) []golden.Measurement {
	var counted, framed []naming.Pattern
	for i := range options {
		switch o := &options[i]; o.Check {
		case request.RecordCount:
			counted = append(counted, o.Pattern)
		case request.RecordBytes:
			framed = append(framed, o.Pattern)
		}
	}
	lines := now.Lines(counted, framed)
	if base != nil {
		lines = tree.LinesBeyond(lines, base.Lines(counted, framed))
	}
	return lines
}

// knownGoroutine reports whether the program has a function that the option's pattern matches: a
// bound on a name that does not exist must not pass.
func knownGoroutine(o *request.GoroutineOption, s *Seen) bool {
	if s.Census.GoroutinesAt(o.Pattern) > 0 {
		return true
	}
	if n, _ := s.Census.StackAt(o.Pattern); n > 0 {
		return true
	}
	for f := range s.Functions() {
		if o.Pattern.MatchPrefix(symbol.Unescape(f)) {
			return true
		}
	}
	return false
}

// nothingStarts says that no goroutine can start in the function that a bound names, "" if one can,
// or if the pattern has wildcards. The program is asked once for each pattern.
func nothingStarts(o *request.GoroutineOption, s *Seen) string {
	p := o.Pattern
	if s.Starts == nil || !p.Plain() || o.Check != request.CheckCount && o.Check != request.CheckLeaked || len(s.Census.At(p)) > 0 || len(s.Census.Inside(p)) > 0 {
		return ""
	}
	problem, known := noStarts.Load(p.Text)
	if !known {
		problem = ""
		if may, found, within := s.Starts(p.MatchPrefix); found && !may {
			problem = "no goroutine can start there: it has no go statement, and none names it"
			for i, f := range within {
				problem = problem.(string) + []string{"; goroutines start in what it calls: ", ", "}[min(i, 1)] +
					fmt.Sprintf("%s (%s:%d)", symbol.Unescape(f.Function), filepath.Base(f.File), f.Line)
			}
		}
		noStarts.Store(p.Text, problem)
	}
	if problem == "" {
		return ""
	}
	return o.Written + ": " + problem.(string)
}

// noStarts has why no goroutine can start in a function of this program, "" if one can, by the text
// of a pattern.
var noStarts sync.Map

func goroutineCount(o *request.GoroutineOption, now, base goroutine.Census) Finding {
	n := max(0, now.GoroutinesAt(o.Pattern)-base.GoroutinesAt(o.Pattern))
	f := Finding{Shown: o.Written, Crews: now.At(o.Pattern), Broken: n > o.Limit, Amount: "found " + textfmt.CountNoun(n, "goroutine") + sinceNote(base)}
	if f.Broken && o.Limit > 0 {
		f.Amount += fmt.Sprintf(": %s more than allowed", textfmt.Count(n-o.Limit))
	}
	if len(f.Crews) == 0 && base == nil && o.Pattern.Plain() {
		if f.Crews = now.Inside(o.Pattern); len(f.Crews) > 0 {
			f.Broken, n = true, f.Crews.Count()
			f.Amount = "found no goroutine that started there, but " + textfmt.Count(n) + " in it now: a bound counts goroutines by the function that they started in"
		}
	}
	found := f.Crews
	sort.SliceStable(found, func(i, j int) bool { return found[i].Count > found[j].Count })
	r := &f.Record
	r.Kind, r.Selector, r.MaxObjects, r.Objects = verdict.Retained, o.Shown, &o.Limit, n
	if len(found) > 0 {
		r.Path, r.File, r.Line = found[0].Entry, found[0].File, found[0].Line
	}
	return f
}

// sinceNote returns what follows a figure from which a baseline was subtracted.
func sinceNote(base goroutine.Census) string {
	if base == nil {
		return ""
	}
	return " beyond the baseline"
}

// unwalkable returns an error if the stack of a goroutine cannot be walked, so that its frames are
// unknown.
func unwalkable(all goroutine.Census) error {
	for _, c := range all {
		if c.Trace.Problem != "" {
			return &refscan.UnavailableError{
				Cause:  fmt.Sprintf("the stack of a goroutine started in %s cannot be walked", c.Entry),
				Remedy: "please report this as a bug of leakgate, with the Go version and the program",
				Err:    errors.New(c.Trace.Problem),
			}
		}
	}
	return nil
}

func stackBytes(o *request.GoroutineOption, now, base goroutine.Census) Finding {
	goroutines, bytes := now.StackAt(o.Pattern)
	_, before := base.StackAt(o.Pattern)
	bytes = max(0, bytes-before)
	f := Finding{Shown: o.Written, Broken: bytes > o.Limit, Frames: &o.Pattern}
	f.Amount = fmt.Sprintf("found %s in %s", textfmt.ByteCount(bytes), textfmt.CountNoun(goroutines, "goroutine")) + sinceNote(base)
	if f.Broken {
		f.Amount += fmt.Sprintf(": %s more than allowed", textfmt.ByteCount(bytes-o.Limit))
	}
	found := now.With(o.Pattern)
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return a.Count*goroutine.SizeOf(a.Below(o.Pattern)) > b.Count*goroutine.SizeOf(b.Below(o.Pattern))
	})
	f.Crews = found
	r := &f.Record
	r.Kind, r.Selector, r.MaxBytes, r.Objects, r.Bytes = verdict.Retained, o.Shown, &o.Limit, goroutines, bytes
	if len(found) > 0 {
		large := goroutine.Largest(found[0].Below(o.Pattern))
		r.Path, r.File, r.Line = symbol.Unescape(goroutine.FrameFunction(large)), large.File, large.StartLine
	}
	return f
}

func leakedGoroutines(o *request.GoroutineOption, leaked []*refscan.LeakedGoroutine) Finding {
	var mine []*refscan.LeakedGoroutine
	var stack, objects, heap int64
	for _, l := range leaked {
		if c := goroutine.TakeCensus([]*refscan.GoroutineStack{l.GoroutineStack}); len(c) > 0 && c[0].IsAt(o.Pattern) {
			mine = append(mine, l)
			stack += l.Size()
			objects += l.HeapObjects
			heap += l.HeapBytes
		}
	}
	n := int64(len(mine))
	f := Finding{Shown: o.Written, Broken: n > 0, Leaked: mine, Amount: "found no goroutine that is blocked for ever"}
	if n > 0 {
		f.Amount = fmt.Sprintf("found %s blocked for ever, with %s of stack and %s, %s of heap",
			textfmt.CountNoun(n, "goroutine"), textfmt.ByteCount(stack), textfmt.CountNoun(objects, "object"), textfmt.ByteCount(heap))
	}
	r := &f.Record
	r.Kind, r.Selector, r.MaxObjects, r.Objects, r.Bytes = verdict.Retained, o.Shown, &o.Limit, n, stack+heap
	if n > 0 {
		r.Path, _ = goroutine.StartOf(mine[0].GoroutineStack)
		r.File, r.Line = mine[0].CreatedFile, mine[0].CreatedLine
	}
	return f
}
