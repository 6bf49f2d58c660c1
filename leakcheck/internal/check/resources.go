package check

import (
	"fmt"
	"slices"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
)

type resourceCheck struct{ req *request.Request }

// NewResourceCheck returns the check of the options about resources.
func NewResourceCheck(r *request.Request) Check { return resourceCheck{r} }

func (c resourceCheck) Problems(r *request.Request) []string {
	var problems []string
	for _, o := range r.Resources {
		if o.Kind == ledger.Thread && o.None && r.Baseline == nil {
			problems = append(problems, o.Written+": every process has threads; give Max, or Since")
		}
	}
	if !r.NeedsHeap() && len(r.Scope)+len(r.Ignores) > 0 {
		problems = append(problems, "Scope and Ignore have no effect on descriptors, threads, processes and native memory")
	}
	return problems
}

func (c resourceCheck) Needs() observe.Needs { return observe.Needs{Resources: true} }

func (c resourceCheck) Evaluate(s *Seen, r *Result) {
	for _, o := range c.req.Resources {
		r.Findings = append(r.Findings, c.judge(o, s.Resources))
	}
}

// nouns has the noun for one resource of a kind.
var nouns = map[ledger.Kind]string{ledger.Descriptor: "descriptor", ledger.Thread: "thread", ledger.Process: "child process"}

func noun(k ledger.Kind, n int64) string {
	switch {
	case k == ledger.NativeBytes:
		return textfmt.ByteCount(n) + " of native memory"
	case k == ledger.Native:
		return textfmt.CountNoun(n, "native block")
	case k == ledger.Process && n != 1:
		return textfmt.Count(n) + " child processes"
	}
	return textfmt.CountNoun(n, nouns[k])
}

func (c resourceCheck) judge(o request.ResourceOption, now *ledger.Ledger) Finding {
	n, beyond := now.Count(o.Kind), ""
	listed := o.Kind
	if listed == ledger.NativeBytes {
		listed = ledger.Native // native blocks are grouped by size
	}
	groups := ledger.Groups(now.Program(listed))
	if b := c.req.Baseline; b != nil {
		before := b.Resources
		if o.Kind.OfMalloc() {
			before = &ledger.Ledger{}
			before.AddNative(b.Native)
		}
		n, beyond = max(0, n-before.Count(o.Kind)), " beyond the baseline"
		groups = ledger.Beyond(groups, ledger.Groups(before.Program(listed)))
	}
	f := Finding{Shown: o.Written, Broken: n > o.Limit, Amount: "found " + noun(o.Kind, n) + beyond}
	if f.Broken && o.Limit > 0 {
		over := textfmt.Count(n - o.Limit)
		if o.Kind.InBytes() {
			over = textfmt.ByteCount(n - o.Limit)
		}
		f.Amount += ": " + over + " more than allowed"
	}
	f.Detail = groupLines(groups)
	if o.Kind.OfMalloc() {
		f.Blocks = func(b native.Block) bool {
			return c.req.Baseline == nil || slices.ContainsFunc(groups, func(g ledger.Group) bool { return g.Name == native.BlockName(b) })
		}
	}
	r := &f.Record
	r.Kind, r.Selector = verdict.Resources, o.Shown
	if o.Kind.InBytes() {
		r.MaxBytes, r.Bytes = &o.Limit, n
	} else {
		r.MaxObjects, r.Objects = &o.Limit, n
	}
	if len(groups) > 0 {
		r.Path, r.Type = groups[0].Name, o.Kind.String()
	}
	for _, g := range groups[:min(len(groups), verdict.MaxBroken)] {
		r.Resources = append(r.Resources, verdict.Resource{Kind: o.Kind.String(), Name: g.Name, State: g.State, Added: g.Size})
	}
	return f
}

// maxGroups is how many names a message shows.
const maxGroups = 10

// groupLines lists the groups in their order, at most maxGroups of them.
func groupLines(groups []ledger.Group) []string {
	var all []string
	for i := range groups {
		if i == maxGroups {
			return append(all, fmt.Sprintf("   … and %s more", textfmt.CountNoun(int64(len(groups)-i), "name")))
		}
		all = append(all, fmt.Sprintf("%8s  %s", textfmt.Count(groups[i].Size), &groups[i]))
	}
	return all
}
