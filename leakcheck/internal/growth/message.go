package growth

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/heldop"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// maxLeaks is how many leaks a message mentions beside those that it traces.
const maxLeaks = 8

// growthFailure is the body of a message: each leak with its rate, its series and who holds it.
func (x *Experiment) growthFailure(g *growth) []string {
	lines := []string{"leakcheck: " + g.subject() + " with every call of op"}
	if n := len(g.leaks); n > 1 {
		lines[0] += fmt.Sprintf(" (%d leaks)", n)
	}
	for i, l := range g.leaks {
		if i == message.MaxTraced {
			lines = append(lines, "")
		}
		if i == message.MaxTraced+maxLeaks {
			lines = append(lines, fmt.Sprintf("… and %d more", len(g.leaks)-i))
			break
		}
		if i >= message.MaxTraced {
			lines = append(lines, l.title())
			continue
		}
		lines = append(lines, "", l.title())
		lines = append(lines, textfmt.Indent(x.explainLeak(l))...)
	}
	return append(lines, "", x.protocol(),
		"a cache that is not full yet looks the same: fill it before the first snapshot (Warmup), or leave it out (Ignore)")
}

// title is "+1.00 *app.Session/op (+4.2 KiB/op) via example.com/app.sessions[*]", behind the resources
// that come with it: "+1.00 fd/op: socket to 127.0.0.1:5432 (ESTABLISHED), with +1.00 ...". Where
// goroutines pile up they are the leak, and what they keep open is said below.
func (l *leak) title() string {
	switch {
	case l.isResource():
		return l.resourceRates()
	case len(l.resources) > 0 && l.goroutines == nil:
		return l.resourceRates() + ", with " + l.goTitle()
	}
	return l.goTitle()
}

// goTitle says what of Go's grows.
func (l *leak) goTitle() string {
	if l.goroutines != nil {
		s := l.rate() + " in " + textfmt.Abridge(symbol.Unescape(l.origin.Entry), message.MaxNameShown)
		if l.startedByProgram {
			s += ", started by " + textfmt.Abridge(symbol.Unescape(l.origin.CreatedBy), message.MaxNameShown)
		}
		return s
	}
	return l.rate() + " via " + l.path()
}

// path is where the first of what grows is.
func (l *leak) path() string {
	head := l.heads[0]
	path := head.Path
	switch {
	case head.IsEntries(), l.countsTimers():
		path = head.Parent.Path
	case head.Parent == nil && head.Recursion != "" && l.measure == inObjects:
		path = nodename.Join(path, head.Recursion) // what grows hangs on others of its type
	}
	return textfmt.Abridge(path, message.MaxNameShown)
}

// rate is how much a leak grows with each call of op: "+1.00 *app.Session/op (+4.2 KiB/op)".
func (l *leak) rate() string {
	if l.isResource() {
		return l.resourceRates()
	}
	bytes := "+" + bytesPerCall(l.bytesPerCall()) + "/op"
	if l.goroutines != nil {
		s := nounPerCall(l.piled, "goroutine") + "/op"
		if l.total.Bytes > 0 {
			s += fmt.Sprintf(" (%s beside the stack)", bytes)
		}
		return s
	}
	head := l.heads[0]
	switch {
	case l.countsTimers() && !l.moves:
		return fmt.Sprintf("%s/op (%s)", nounPerCall(l.own, "timer"), bytes)
	case l.measure == inBytes:
		return fmt.Sprintf("%s in %s", bytes, message.TypeText(head))
	case head.IsEntries():
		return fmt.Sprintf("%s entries/op (%s) in %s", perCall(l.own), bytes, message.TypeText(head.Parent))
	case l.measure == inEntries:
		return fmt.Sprintf("%s entries/op (%s) in %s", perCall(l.own), bytes, message.TypeText(head))
	}
	return fmt.Sprintf("%s %s/op (%s)", perCall(l.own), message.TypeText(head), bytes)
}

// countsTimers reports whether what grows by number is the timers of a root, or the functions that
// they run, with what of them is not known. The root's name says what those are for.
func (l *leak) countsTimers() bool {
	if l.goroutines != nil || l.measure != inObjects {
		return false
	}
	head := l.heads[0]
	return head.Parent != nil && head.Parent.Parent == nil && head.Root.Kind == refscan.RootTimer && (head.Name == "$fn" || head.Name == "$timer")
}

// bytesPerCall is the growth of all that the leak holds.
func (l *leak) bytesPerCall() float64 {
	calls := l.own.calls
	if l.goroutines != nil {
		calls = l.piled.calls
	}
	return float64(l.total.Bytes) / float64(calls[len(calls)-1]-calls[0])
}

func perCall(s series) string { return fmt.Sprintf("%+.2f", s.perCall()) }

// nounPerCall is "+1.00 goroutine" or "+0.50 goroutines".
func nounPerCall(s series, noun string) string {
	rate := perCall(s)
	if rate != "+1.00" {
		noun += "s"
	}
	return rate + " " + noun
}

func bytesPerCall(n float64) string {
	if n < 10 {
		return strconv.FormatFloat(n, 'f', 1, 64) + " B"
	}
	return textfmt.ByteCount(int64(math.Round(n)))
}

func (x *Experiment) explainLeak(l *leak) []string {
	if l.isResource() {
		return x.explainResources(l)
	}
	lines := x.usualCause(l)
	if l.goroutines != nil {
		lines = append(lines, l.piled.show("goroutines"))
		lines = append(append(lines, l.resourcesOfPile()...), x.callsBehind(l)...)
		lines = append(lines, x.explainPile(l)...)
		if len(l.heads) > 0 {
			lines = append(lines, "", "what they keep alive:")
		}
	}
	if len(l.heads) == 0 {
		return append(lines, l.comesWith()...)
	}
	head := l.heads[0]
	if l.goroutines == nil {
		lines = append(lines, x.explainResources(l)...)
		lines = append(lines, l.own.show(l.counted()))
		if l.moves {
			lines = append(lines, movesText)
		}
	}
	lines = append(lines, x.growthHeldBy(head, l)...)
	if head.IsMissed() {
		lines = append(lines, missedTypes(x.last().eval.Report)...)
	}
	t := l.trace()
	if l.goroutines == nil && l.measure == inObjects && !head.IsEntries() {
		t.Grows = head
	}
	lines = append(lines, "", fmt.Sprintf("added by %s:", textfmt.CountNoun(x.last().calls-x.first().calls, "call")))
	lines = append(lines, message.Lines(t)...)
	lines = append(lines, message.AlsoHeldBy(t, x.last().eval.Observation, x.Env)...)
	lines = append(lines, x.allocatedAt(t)...)
	if others := message.Others(t, l.heads, true); len(others) > 0 {
		lines = append(lines, "", "besides:")
		lines = append(lines, others...)
	}
	return append(lines, l.comesWith()...)
}

// counted is what the series of a leak on the heap is of.
func (l *leak) counted() string {
	switch {
	case l.heads[0].IsEntries():
		return inEntries.String()
	case l.countsTimers() && !l.moves:
		return "timers"
	}
	return l.measure.String()
}

// missedTypes says what the types of missed objects are, as far as the allocator recorded them.
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

// trace leads to where most of what grows sits.
func (l *leak) trace() *tree.Trace {
	weight := tree.BytesOf
	if l.measure == inObjects {
		weight = tree.ObjectsOf
	}
	return tree.TraceTo(l.heads[0], true, weight)
}

func (m measure) String() string { return [measures]string{"objects", "entries", "bytes"}[m] }

// places returns where the message about the growth asks who else holds what it traces.
func (g *growth) places() []observe.Place {
	var traces []*tree.Trace
	for _, l := range g.leaks[:min(len(g.leaks), message.MaxTraced)] {
		if len(l.heads) > 0 && l.goroutines == nil { // what goroutines hold goes with them
			traces = append(traces, l.trace())
		}
	}
	return message.PlacesOf(traces)
}

// show writes a series as "objects: 56 → 112 → 224 → 448 after 56, 112, 224 and 448 calls".
func (s series) show(what string) string {
	values, calls := make([]string, len(s.values)), make([]string, len(s.calls))
	for i, v := range s.values {
		values[i], calls[i] = textfmt.Count(v), textfmt.Count(s.calls[i])
	}
	return fmt.Sprintf("%s: %s after %s calls", what, strings.Join(values, " → "), textfmt.Enumerate(calls))
}

func (x *Experiment) explainPile(l *leak) []string {
	line := "in state: " + l.goroutines.State
	at, via := l.goroutines.Place(x.Env.IsProgram)
	switch {
	case via != "":
		line += fmt.Sprintf(", in %s, called by %s", symbol.Unescape(via), x.callText(at))
	case at.Function != "":
		line += ", at " + x.callText(at)
	}
	lines := []string{line}
	if l.origin.CreatedBy != "" {
		lines = append(lines, "created by "+x.callText(Call{l.origin.CreatedBy, l.origin.CreatedAt}))
	}
	return lines
}

// callText is "example.com/app.(*Pool).run (pool.go:40)".
func (x *Experiment) callText(c Call) string {
	s := textfmt.Abridge(symbol.Unescape(c.Function), message.MaxNameShown)
	if at := x.Env.PlaceOf(c.At); at != "" {
		s += " (" + at + ")"
	}
	return s
}

// usualCause is what as a rule leads to a leak of this shape, in a line, or nothing.
func (x *Experiment) usualCause(l *leak) []string {
	if l.goroutines == nil {
		if cause := message.HeapCause(l.heads[0].Line(), x.Env.IsProgram); cause != "" {
			return []string{message.CausePrefix + cause}
		}
		return nil
	}
	if i := l.goroutines.Cause(&l.origin, x.Env.IsProgram); i >= 0 {
		return []string{message.CausePrefix + GoroutineCauses[i].Text}
	}
	if l.waitsForTime() {
		return []string{message.CausePrefix + receivesTime}
	}
	return nil
}

// maxWith is how many of the leaks that come with another one a message mentions.
const maxWith = 5

// comesWith lists the leaks that come with another one.
func (l *leak) comesWith() []string {
	if len(l.with) == 0 {
		return nil
	}
	lines := []string{"", "with it, as a rule for the same cause:"}
	for i, w := range l.with {
		if i == maxWith {
			lines = append(lines, fmt.Sprintf("   … and %d more", len(l.with)-i))
			break
		}
		lines = append(lines, "   "+w.title())
	}
	return lines
}

// growthHeldBy says who holds a branch. What the test holds may be the test's own fault.
func (x *Experiment) growthHeldBy(b *tree.Branch, l *leak) []string {
	root := b.Line()[0]
	switch {
	case heldop.IsRoot(root):
		return []string{"held by what op itself refers to: a variable that it captures, or its receiver"}
	case root.Root.Caller && !message.IsContextVariable(root):
		lines := message.HeldBy(b, x.Env)
		return []string{lines[0], "if op is meant to fill it, empty it in op; else it is part of what leaks"}
	case l.goroutines != nil:
		return message.HeldBy(b, x.Env)[:1] // where the goroutines come from has been said
	}
	return message.HeldBy(b, x.Env)
}

// protocol says what was run.
func (x *Experiment) protocol() string {
	batches := make([]string, len(x.batches))
	for i, n := range x.batches {
		batches[i] = textfmt.Count(int64(n))
	}
	s := fmt.Sprintf("op was called %s times: %s to warm up, then %s, with a snapshot after each batch",
		textfmt.Count(x.calls), textfmt.Count(x.first().calls), textfmt.Enumerate(batches))
	if x.native != nil && x.native.calls > 0 {
		s += fmt.Sprintf("; then %s with calls of C code recorded", textfmt.Count(2*x.native.calls))
	}
	return s
}
