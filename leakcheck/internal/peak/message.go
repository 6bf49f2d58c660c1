package peak

import (
	"fmt"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// failure is the outcome where a peak was found.
func (x *experiment) failure() *assertion.Outcome {
	p := x.found
	o := &assertion.Outcome{Verdict: verdict.Fail, Eval: p.eval, Base: x.Req.Baseline, Notes: x.Logs, Bounds: x.record(p.bytes(), verdict.Fail)}
	if p.held {
		if t := p.trace(); t != nil {
			o.Bounds[0].HeldBy, o.Bounds[0].Chain = heldBy(t.Branches[0], x.Env), message.Chain(t)
		}
	}
	if p.eval == nil { // without a snapshot, body is all there is to say
		o.Message = strings.Join(x.body(), "\n")
		return o
	}
	if t := p.trace(); p.held && t != nil {
		b := &o.Bounds[0]
		b.Path, b.Type = t.Last().Path, t.Last().Typ
		x.Locate(b, t.Branches[0])
	}
	o.Body = x.body
	return o
}

// bytes returns how many bytes more than before op were alive, for certain.
func (p *peak) bytes() int64 {
	if p.held {
		return p.observed
	}
	return p.least
}

// culprits returns the roots that hold more than before op, the largest first. It leaves out roots
// that hold little of the peak: while a program runs, there are always some.
func (p *peak) culprits() []*tree.Branch {
	const smallPart = 50
	var all []*tree.Branch
	for _, b := range p.eval.Forest {
		if b.Total.Bytes > p.observed/smallPart {
			all = append(all, b)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Total.Bytes > all[j].Total.Bytes })
	return all
}

// trace returns the path to the branch with most of the first culprit; nil if there is none.
func (p *peak) trace() *tree.Trace {
	all := p.culprits()
	if len(all) == 0 {
		return nil
	}
	return tree.TraceTo(all[0], true, tree.BytesOf)
}

// body returns the message: what was found, who held it and where it was allocated.
func (x *experiment) body() []string {
	p := x.found
	lines := []string{
		"leakcheck: op adds more to the live heap than the test allows", "",
		x.req.shown(),
	}
	over := fmt.Sprintf("found %s more alive than before op: %s more than allowed", textfmt.ByteCount(p.bytes()), textfmt.ByteCount(p.bytes()-x.req.Most))
	var who []string
	switch t := (*tree.Trace)(nil); {
	case p.held:
		who = []string{over, "in a snapshot at the end of a mark phase, " + x.when()}
		if t = p.trace(); t != nil {
			who = append(who, heldBy(t.Branches[0], x.Env)...)
			who = append(who, message.UsualCause(t, x.Env)...)
			who = append(who, "")
			who = append(who, message.Lines(t)...)
			who = append(who, p.allocatedAt(t, x.Env)...)
			if others := message.Others(t, p.culprits(), true); len(others) > 0 {
				who = append(who, "", "besides, more than before op:")
				who = append(who, others...)
			}
		}
	default:
		who = []string{over, "at the end of a mark phase, " + x.when()}
		if p.eval != nil {
			who = append(who, fmt.Sprintf("it was gone when a snapshot was taken at once, which shows %s more than before op: who held it is not known", textfmt.ByteCount(max(0, p.observed))))
		} else {
			who = append(who, fmt.Sprintf("who held it is not known: %v", p.err))
		}
		who = append(who, x.allocatedSince(p)...)
	}
	lines = append(lines, textfmt.Indent(who)...)
	return append(lines, "", fmt.Sprintf("op was called %s; %s ended while it ran", textfmt.CountNoun(int64(x.calls), "time"), x.lookedAt()))
}

func (x *experiment) when() string {
	call := textfmt.Count(int64(x.found.call))
	if x.found.returned {
		return "after op had returned from call " + call
	}
	return "while op ran (call " + call + ")"
}

// heldBy says what the root of a branch is. Variables of the goroutine that calls op belong to op,
// unless tests run at the same time.
func heldBy(b *tree.Branch, env *environ.Environment) []string {
	if tree.IsHeldOp(b) {
		return []string{"held by what op itself refers to: a variable that it captures, or its receiver"}
	}
	if variable := message.HeldByTest(b, env); variable != "" {
		return []string{"held while op runs by " + variable}
	}
	return message.HeldBy(b, env)
}
