package leakcheck

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxLeaks is how many leaks a message mentions beside those that it traces.
const maxLeaks = 8

// growthFailure is the body of a message: each leak with its rate, its series and who holds it.
func (x *experiment) growthFailure(g *growth) []string {
	lines := []string{"leakcheck: memory grows with every call of op"}
	if n := len(g.leaks); n > 1 {
		lines[0] += fmt.Sprintf(" (%d leaks)", n)
	}
	for i, l := range g.leaks {
		if i == maxTraced {
			lines = append(lines, "")
		}
		if i == maxTraced+maxLeaks {
			lines = append(lines, fmt.Sprintf("… and %d more", len(g.leaks)-i))
			break
		}
		if i >= maxTraced {
			lines = append(lines, l.title())
			continue
		}
		lines = append(lines, "", l.title())
		lines = append(lines, indent(x.explainLeak(l))...)
	}
	return append(lines, "", x.protocol(),
		"a cache that is not full yet looks the same: fill it before the first snapshot (Warmup), or leave it out (Ignore)")
}

// title is "+1.00 *app.Session/op (+4.2 KiB/op) via example.com/app.sessions[*]".
func (l *leak) title() string {
	if l.goroutines != nil {
		return l.pileTitle()
	}
	head := l.heads[0]
	rate := "+" + bytesPerCall(l.bytesPerCall()) + "/op"
	switch l.measure {
	case inBytes:
		return fmt.Sprintf("%s in %s via %s", rate, l.typeName(), abridge(head.path, maxNameShown))
	case inEntries:
		return fmt.Sprintf("%s entries/op (%s) in %s via %s", perCall(l.own), rate, l.typeName(), abridge(head.path, maxNameShown))
	}
	return fmt.Sprintf("%s %s/op (%s) via %s", perCall(l.own), l.typeName(), rate, abridge(head.path, maxNameShown))
}

func (l *leak) typeName() string {
	if head := l.heads[0]; head.typ != "" {
		return abridge(shortName(head.typ), maxNameShown)
	}
	return "(object of unknown type)"
}

func (l *leak) pileTitle() string {
	s := fmt.Sprintf("%s goroutine/op", perCall(l.piled))
	if l.total.bytes > 0 {
		s += fmt.Sprintf(" (+%s/op beside the stack)", bytesPerCall(l.bytesPerCall()))
	}
	return s + " in " + abridge(unescapePath(l.origin.entry), maxNameShown)
}

// bytesPerCall is the growth of all that the leak holds.
func (l *leak) bytesPerCall() float64 {
	calls := l.own.calls
	if l.goroutines != nil {
		calls = l.piled.calls
	}
	return float64(l.total.bytes) / float64(calls[len(calls)-1]-calls[0])
}

func perCall(s series) string { return fmt.Sprintf("%+.2f", s.perCall()) }

func bytesPerCall(n float64) string {
	if n < 10 {
		return strconv.FormatFloat(n, 'f', 1, 64) + " B"
	}
	return byteCount(int64(math.Round(n)))
}

func (x *experiment) explainLeak(l *leak) []string {
	var lines []string
	if l.goroutines != nil {
		lines = append(lines, l.piled.show("goroutines"))
		lines = append(lines, x.explainPile(l)...)
		if len(l.heads) > 0 {
			lines = append(lines, "", "what they keep alive:")
		}
	}
	if len(l.heads) == 0 {
		return lines
	}
	head := l.heads[0]
	if l.goroutines == nil {
		lines = append(lines, l.own.show(l.measure.String()))
	}
	lines = append(lines, x.growthHeldBy(head, l)...)
	t := l.trace()
	if l.goroutines == nil {
		t.grows = head
	}
	lines = append(lines, "", fmt.Sprintf("added by %s:", countNoun(x.last().calls-x.first().calls, "call")))
	lines = append(lines, t.lines()...)
	lines = append(lines, x.req.alsoHeld(t, x.env)...)
	lines = append(lines, t.allocatedAt(x.env)...)
	if others := t.others(l.heads, true); len(others) > 0 {
		lines = append(lines, "", "besides:")
		lines = append(lines, others...)
	}
	return lines
}

// trace leads to where most of what grows sits.
func (l *leak) trace() *trace {
	weight := bytesOf
	if l.measure == inObjects {
		weight = objectsOf
	}
	return traceTo(l.heads[0], true, weight)
}

func (m measure) String() string { return [measures]string{"objects", "entries", "bytes"}[m] }

// holders searches for who else holds what the message about the growth traces.
func (g *growth) holders() holderSearch {
	search := &elsewhere{}
	var traces []*trace
	for _, l := range g.leaks[:min(len(g.leaks), maxTraced)] {
		if len(l.heads) > 0 && l.goroutines == nil { // what goroutines hold goes with them
			traces = append(traces, l.trace())
		}
	}
	search.expect(traces...)
	return search
}

// show writes a series as "objects: 56 → 112 → 224 → 448 after 56, 112, 224 and 448 calls".
func (s series) show(what string) string {
	values, calls := make([]string, len(s.values)), make([]string, len(s.calls))
	for i, v := range s.values {
		values[i], calls[i] = count(v), count(s.calls[i])
	}
	return fmt.Sprintf("%s: %s after %s calls", what, strings.Join(values, " → "), enumerate(calls))
}

func enumerate(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

func (x *experiment) explainPile(l *leak) []string {
	where := "in state: " + l.goroutines.state
	if l.goroutines.where != "" {
		where += ", at " + unescapePath(l.goroutines.where)
		if at := x.env.placeOf(l.goroutines.at); at != "" {
			where += " (" + at + ")"
		}
	}
	lines := []string{where}
	if l.origin.createdBy != "" {
		lines = append(lines, "created by "+unescapePath(l.origin.createdBy)+" ("+x.env.placeOf(l.origin.createdAt)+")")
	}
	return append(lines, usualCause(l.origin.entry)...)
}

// growthHeldBy says who holds a branch. What the test holds may be the test's own fault.
func (x *experiment) growthHeldBy(b *branch, l *leak) []string {
	root := b.line()[0]
	switch {
	case isOpRoot(root):
		return []string{"held by what op itself refers to: a variable that it captures, or its receiver"}
	case root.root.Caller:
		lines := heldBy(b, x.env)
		return []string{lines[0], "if op is meant to fill it, empty it in op; else it is part of what leaks"}
	case l.goroutines != nil:
		return heldBy(b, x.env)[:1] // where the goroutines come from has been said
	}
	return heldBy(b, x.env)
}

// protocol says what was run.
func (x *experiment) protocol() string {
	batches := make([]string, len(x.batches))
	for i, n := range x.batches {
		batches[i] = count(int64(n))
	}
	return fmt.Sprintf("op was called %s times: %s to warm up, then %s, with a snapshot after each batch",
		count(x.calls), count(x.first().calls), enumerate(batches))
}
