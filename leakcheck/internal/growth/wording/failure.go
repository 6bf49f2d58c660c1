package wording

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// maxLeaks is how many leaks a message mentions beside those that it traces.
const maxLeaks = 8

// Failure is the body of a message: each leak with its rate, its series and its holders.
func (w *Wording) Failure(g *finding.Growth, calls int64) []string {
	w.unsampled = false
	what, grows := subject(g)
	if w.Process != "" {
		what += " of " + w.Process
	}
	lines := []string{"leakcheck: " + what + " " + grows + " with every call of op"}
	if n := len(g.Leaks); n > 1 {
		lines[0] += fmt.Sprintf(" (%d leaks)", n)
	}
	for i, l := range g.Leaks {
		if i == message.MaxTraced {
			lines = append(lines, "")
		}
		if i == message.MaxTraced+maxLeaks {
			lines = append(lines, fmt.Sprintf("… and %d more", len(g.Leaks)-i))
			break
		}
		if i >= message.MaxTraced {
			lines = append(lines, inShort(l))
			continue
		}
		lines = append(lines, "", title(l))
		lines = append(lines, textfmt.Indent(w.explainLeak(l))...)
	}
	lines = append(lines, "", w.protocol(calls),
		"a cache that is not full yet looks the same: fill it before the first snapshot (Warmup), or leave it out (Ignore)")
	if w.Process != "" {
		lines = append(lines, "what others make "+w.Process+" do meanwhile counts, too")
	}
	if w.unsampled {
		lines = append(lines, "where this is allocated, its memory profiler has not sampled; started with GODEBUG=memprofilerate=1 it records all")
	}
	return lines
}

// inShort is the title of a leak that the message does not explain.
func inShort(l *finding.Leak) string {
	if l.Goroutines != nil && len(l.Resources) > 0 {
		return title(l) + ", with " + resourceRates(l)
	}
	return title(l)
}

// subject names the kinds of growth for the head of a message. Resources that goroutines keep open
// are named with the goroutines.
func subject(g *finding.Growth) (what, grows string) {
	memory, resources := false, false
	for _, l := range g.Leaks {
		memory = memory || !l.IsResource()
		resources = resources || len(l.Resources) > 0 && l.Goroutines == nil
	}
	switch {
	case memory && resources:
		return "memory and resources", "grow"
	case resources:
		return "resources", "grow"
	}
	return "memory", "grows"
}

func (w *Wording) explainLeak(l *finding.Leak) []string {
	if l.IsResource() {
		return w.explainResources(l)
	}
	cause := w.usualCause(l)
	lines := append(cause[:len(cause):len(cause)], maker(w, l)...)
	if l.Goroutines != nil {
		lines = append(lines, l.Piled.Show(piled(l)))
		lines = append(append(lines, resourcesOfPile(l)...), w.callsBehind(l)...)
		lines = append(lines, w.explainPile(l)...)
		if len(l.Heads) > 0 {
			lines = append(lines, "", "what they keep alive:")
		}
	}
	if len(l.Heads) == 0 {
		return append(lines, comesWith(l)...)
	}
	head := l.Heads[0]
	if l.Goroutines == nil {
		lines = append(lines, w.explainResources(l)...)
		lines = append(lines, l.Own.Show(counted(l)))
		if l.Moves {
			lines = append(lines, movesText)
		}
		if l.IsQueue() {
			lines = append(lines, queueText)
		}
	}
	if root := head.Line()[0]; root.Root.Kind == refscan.RootFrame && l.Goroutines == nil || tree.IsHeldOp(root) {
		if field := message.FieldOf(head, w.Env); field != "" {
			lines = append(lines, "grows in the "+field)
		}
	}
	lines = append(lines, w.growthHeldBy(head, l)...)
	if cause == nil {
		lines = append(lines, w.expiry(l)...)
	}
	if head.IsMissed() {
		lines = append(lines, missedTypes(w.Last().Eval.Report)...)
	}
	t := trace(l)
	lines = append(lines, "", fmt.Sprintf("added by %s:", textfmt.CountNoun(w.Last().Calls-w.First().Calls, "call")))
	lines = append(lines, message.Lines(t)...)
	lines = append(lines, message.AlsoHeldBy(t, w.Last().Eval.Observation, w.Env)...)
	lines = append(lines, w.allocatedAt(t, head)...)
	if others := message.Others(t, l.Heads, true); len(others) > 0 {
		lines = append(lines, "", "besides:")
		lines = append(lines, others...)
	}
	return append(lines, comesWith(l)...)
}

// missedTypes lists the types of missed objects, as far as the allocator recorded them.
func missedTypes(r *refscan.Report) []string {
	const shown = 5
	var types []string
	for _, n := range r.Missed {
		if n.Type != "" && len(types) < shown {
			types = append(types, textfmt.Count(n.Objects)+" "+textfmt.Abridge(naming.ShortName(naming.CleanType(n.Type)), message.MaxNameShown))
		}
	}
	if len(types) == 0 {
		return nil
	}
	return []string{"among them, by what the allocator recorded: " + strings.Join(types, ", ")}
}

// maxWith is how many of the leaks that come with another one a message mentions.
const maxWith = 5

// comesWith lists the leaks that come with another one.
func comesWith(l *finding.Leak) []string {
	if len(l.With) == 0 {
		return nil
	}
	lines := []string{"", "with it, as a rule for the same cause:"}
	for i, w := range l.With {
		if i == maxWith {
			lines = append(lines, fmt.Sprintf("   … and %d more", len(l.With)-i))
			break
		}
		lines = append(lines, "   "+inShort(w))
	}
	return lines
}

// growthHeldBy says what holds a branch. If the test holds it, the test itself may be at fault.
func (w *Wording) growthHeldBy(b *tree.Branch, l *finding.Leak) []string {
	root := b.Line()[0]
	switch {
	case tree.IsHeldOp(root):
		return []string{"held by what op itself refers to: a variable that it captures, or its receiver"}
	case root.Root.Caller && !message.IsContextVariable(root):
		lines := message.HeldBy(b, w.Env)
		return []string{lines[0], "if op is meant to fill it, empty it in op; else it is part of what leaks"}
	case l.Goroutines != nil:
		return message.HeldBy(b, w.Env)[:1] // the message has the origin of the goroutines already
	}
	return message.HeldBy(b, w.Env)
}

// movesText is the explanation of a leak that grows at no single place.
const movesText = "counted wherever they are: at no place did they grow with each batch, since they move from one to another"

// queueText is the explanation of a leak in the buffer of a channel.
const queueText = "each call sends to it, and nobody receives: once the buffer is full, op will wait, or drop what it sends"

// protocol describes the calls of op: the warm-up, the batches, and the recorded calls of C code.
func (w *Wording) protocol(calls int64) string {
	var batches []string
	for _, n := range w.Batches[w.Dropped:] { // those before are of the warm-up
		batches = append(batches, textfmt.Count(int64(n)))
	}
	s := fmt.Sprintf("op was called %s times: %s to warm up, then %s, with a snapshot after each batch",
		textfmt.Count(calls), textfmt.Count(w.First().Calls/max(1, w.Each)), textfmt.Enumerate(batches))
	if w.Each > 1 {
		s += fmt.Sprintf("; each time counts as %s calls", textfmt.Count(w.Each))
	}
	if w.Later != nil {
		s += fmt.Sprintf("; the last of them after %s without a call", Wait)
	}
	if w.Native != nil && w.Native.Calls > 0 {
		s += fmt.Sprintf("; then %s with calls of C code recorded", textfmt.Count(2*w.Native.Calls))
	}
	return s
}

// trace leads to the branch where most of the growth is.
func trace(l *finding.Leak) *tree.Trace {
	weight := tree.BytesOf
	if l.Measure == finding.InObjects {
		weight = tree.ObjectsOf
	}
	t := tree.TraceTo(l.Heads[0], true, weight)
	if l.Goroutines == nil && l.Measure == finding.InObjects && !l.Heads[0].IsEntries() {
		t.Grows = l.Heads[0]
	}
	return t
}

// Places returns the branches for which the message about the growth lists other holders.
func Places(g *finding.Growth) []observe.Place {
	var traces []*tree.Trace
	for _, l := range g.Leaks[:min(len(g.Leaks), message.MaxTraced)] {
		if len(l.Heads) > 0 && l.Goroutines == nil { // objects that goroutines hold go with them
			traces = append(traces, trace(l))
		}
	}
	return message.PlacesOf(traces)
}
