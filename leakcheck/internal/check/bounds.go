package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A boundsCheck judges the bounds on the heap.
type boundsCheck struct {
	req   *request.Request
	scope tree.Scope
	env   *environ.Environment
	cuts  []cut           // by bound
	held  []*observe.Held // by bound; nil for bounds on types, and on what cutting frees alone
}

// A cut is a query for what cutting the branches that a bound selects would free.
type cut struct {
	observe.Cut
	holders []*tree.Branch // the branches that Native has the figures of, from the report with native blocks
}

func NewBoundsCheck(r *request.Request, s tree.Scope, env *environ.Environment) *boundsCheck {
	c := &boundsCheck{req: r, scope: s, env: env, cuts: make([]cut, len(r.Bounds)), held: make([]*observe.Held, len(r.Bounds))}
	for i, b := range r.Bounds {
		if q := b.Selector.HeldQuery(); q != nil && (b.MaxObjects != nil || b.MaxBytes != nil) {
			c.held[i] = &observe.Held{Query: &q}
		}
		if b.Cut.Given() && b.Selector.ByType() {
			c.cuts[i].Nodes = func(r *refscan.Report) []*refscan.Node { return c.nodes(r, &b.Selector) }
		}
		if b.Cut.Native {
			c.cuts[i].Keys = func(r *refscan.Report) []string { return c.keys(r, i) }
		}
	}
	return c
}

func (c *boundsCheck) Problems(r *request.Request) []string {
	cut := func(b *request.Bound) bool { return b.Cut.Given() }
	if !slices.ContainsFunc(r.Bounds, cut) {
		return nil
	}
	var problems []string
	if r.Baseline != nil {
		problems = append(problems, SinceBesideRetained)
	}
	if len(r.Ignores) > 0 {
		problems = append(problems, "Ignore beside MaxRetainedObjects or MaxRetainedBytes: what cutting frees cannot leave out a part; use two assertions")
	}
	return problems
}

func (c *boundsCheck) Needs() observe.Needs {
	n := observe.Needs{Heap: true, Order: request.OrderOf(c.req, c.scope)}
	for i, b := range c.req.Bounds {
		n.Retained = n.Retained || b.Cut.Given()
		n.Native = n.Native || b.Cut.Native
		n.Cuts = append(n.Cuts, &c.cuts[i].Cut)
		if c.held[i] != nil {
			n.Held = append(n.Held, c.held[i])
		}
	}
	return n
}

func (c *boundsCheck) Evaluate(s *Seen, r *Result) {
	for i, b := range c.req.Bounds {
		if problem := NothingMeant(b.String(), &b.Selector, c.scope, s); problem != "" {
			r.Problems = append(r.Problems, problem)
			continue
		}
		f, notes := c.judge(b, &c.cuts[i], c.held[i], s)
		r.Findings, r.Notes = append(r.Findings, f), append(r.Notes, notes...)
		if b.Selector.ByType() && !f.Broken {
			r.Notes = append(r.Notes, c.untyped(b, s)...)
		}
		if !f.Broken && r.Doubt == nil {
			r.Doubt = c.cuts[i].Err
		}
	}
}

// judge compares one bound with a snapshot.
func (c *boundsCheck) judge(b *request.Bound, cut *cut, held *observe.Held, s *Seen) (f Finding, notes []string) {
	selected, found, notes := c.selectBeyondBaseline(b, s)
	culprits, more := selected, ""
	if held != nil && held.Result != nil && (c.req.Baseline == nil || held.Before != nil) {
		culprits, found = c.heldBy(b, held, s)
		if more = beyond(b, held, found); more != "" {
			notes = append(notes, fmt.Sprintf("%s: it also leads to %s", b, more))
		}
	} else {
		held = nil
	}
	if len(cut.Native) == 0 && b.Selector.Kind == request.SelectPath && found == (tree.Tally{}) && len(b.Selector.Selects(s.Everything)) == 0 {
		notes = append(notes, fmt.Sprintf("%s: its root exists, but nothing is retained at that path now", b))
	}
	f.Shown, f.Broken, f.Amount = b.String(), b.Broken(found.Objects, found.Bytes), amount(b, found)
	f.Below, f.Weight = !b.Selector.ByType(), tree.BytesOf
	r := &f.Record
	r.Kind, r.Selector, r.MaxObjects, r.MaxBytes = verdict.Retained, b.Selector.Record, b.MaxObjects, b.MaxBytes
	r.Objects, r.Bytes, r.Beyond = found.Objects, found.Bytes, more
	if b.MaxObjects != nil && found.Objects > *b.MaxObjects {
		f.Weight = tree.ObjectsOf
	}
	f.Culprits, f.Held = rank(&b.Selector, culprits, f.Weight), held
	if b.Cut.Given() {
		cut.judge(&f, b, selected)
	}
	return f, notes
}

// untyped is a note on objects of unknown type that functions of the program hold, which a bound on
// a type leaves out.
func (c *boundsCheck) untyped(b *request.Bound, s *Seen) []string {
	var sum tree.Tally
	place := ""
	s.Now.All(func(at *tree.Branch) bool {
		if at.UntypedObjects > 0 && at.Root.Kind == refscan.RootFrame && c.env.IsProgram(at.Root.Package) {
			sum = sum.Plus(tree.Tally{Objects: at.UntypedObjects, Bytes: at.UntypedBytes})
			place = cmp.Or(place, at.Path)
		}
		return true
	})
	if place == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s: could not tell the type of %s (%s) at %s, which does not count", b, textfmt.CountNoun(sum.Objects, "object"), textfmt.ByteCount(sum.Bytes), place)}
}

// heldBy returns the branches that a bound selects, with what they hold, whoever else holds it too,
// and their figures beyond the baseline.
func (c *boundsCheck) heldBy(b *request.Bound, held *observe.Held, s *Seen) (selected []*tree.Branch, found tree.Tally) {
	now := c.heldForest(held.Result, s.Now)
	selected = b.Selector.Selects(now)
	found = b.Selector.Sum(selected)
	if held.Before != nil {
		before := c.heldForest(held.Before, s.Base)
		found = found.Beyond(b.Selector.Sum(b.Selector.Selects(before)))
		selected = b.Selector.Selects(now.Growth(before))
	}
	return selected, found
}

// heldForest returns the trees of what a bound's branches hold. Roots that are no variables, timers
// or finalizers are those of the report.
func (c *boundsCheck) heldForest(held *refscan.Held, report tree.Forest) tree.Forest {
	f, _ := tree.ApplyIgnores(tree.GrowForest(&refscan.Report{Roots: held.Roots}).Keep(c.scope), c.req.Ignores)
	for _, r := range report {
		if r.Root.Kind == refscan.RootNative || r.Root.Kind == refscan.RootOther && !slices.ContainsFunc(f, func(s *tree.Branch) bool { return s.Path == r.Path }) {
			f = append(f, r)
		}
	}
	return f
}

// beyond says what the selected branches of a bound that holds lead to, and do not hold, if it
// would be more than the bound; else it returns "".
func beyond(b *request.Bound, held *observe.Held, found tree.Tally) string {
	more := beyondOf(held.Result)
	if held.Before != nil {
		more = more.Beyond(beyondOf(held.Before))
	}
	all := found.Plus(more)
	if b.Broken(found.Objects, found.Bytes) || !b.Broken(all.Objects, all.Bytes) {
		return ""
	}
	return more.Text() + " that " + cmp.Or(held.Result.Nearer, "something else") + " is nearer to"
}

func beyondOf(h *refscan.Held) tree.Tally {
	return tree.Tally{Objects: h.BeyondObjects, Bytes: h.BeyondBytes}
}

// selectBeyondBaseline returns the branches that a bound selects, and their figures beyond the
// baseline.
func (c *boundsCheck) selectBeyondBaseline(b *request.Bound, s *Seen) (selected []*tree.Branch, found tree.Tally, notes []string) {
	selected, notes = c.withoutRetainers(b, b.Selector.Selects(s.Now))
	found = b.Selector.Sum(selected)
	if c.req.Baseline != nil {
		before, _ := c.withoutRetainers(b, b.Selector.Selects(s.Base))
		found = found.Beyond(b.Selector.Sum(before))
		selected = b.Selector.Selects(s.Forest)
	}
	return selected, found, notes
}

// withoutRetainers removes the branches that the standard library keeps on purpose from the
// selection of a bound on a type, unless there is a scope.
func (c *boundsCheck) withoutRetainers(b *request.Bound, selected []*tree.Branch) (rest []*tree.Branch, notes []string) {
	if !b.Selector.ByType() || len(c.req.Scope) > 0 {
		return selected, nil
	}
	rest, hidden := tree.KeptOnPurpose(c.env, selected)
	for _, note := range tree.NotesOf(hidden) {
		notes = append(notes, b.String()+": "+note)
	}
	return rest, notes
}
