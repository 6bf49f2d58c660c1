package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/history"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// maxMade is how many calls of a stack a record has.
const maxMade = 16

// making returns the program's calls on the stack that made what grows, and on the one that filled
// the container that it is an element of, innermost first; nil if they are not known.
func (w *Wording) making(l *finding.Leak) (made, filled []verdict.Call) {
	switch {
	case l.Goroutines != nil && w.isIdle(l):
		return w.transportOf(l), nil
	case l.Goroutines != nil:
		// The first of the ancestors is the go statement, which is known more precisely.
		made = w.callsOf([]pile.Call{{Function: l.Origin.CreatedBy, At: l.Origin.CreatedAt}})
		for i, c := range l.Goroutines.Ancestors {
			if calls := w.callsOf([]pile.Call{c}); i > 0 && calls != nil && len(made) < maxMade {
				calls[0].Calls = l.Goroutines.Ancestors[i-1].Function
				made = append(made, calls...)
			}
		}
		return made, nil
	case l.IsResource():
		for _, by := range w.Makers[l.Resources[0].Kind.String()] {
			// A test's own does not excuse the others.
			if made == nil || strings.Contains(made[0].At, "_test.go:") {
				made = w.callsOf(by.Stack)
			}
		}
		return made, nil
	case l.Heads[0].IsMissed():
		return nil, nil
	}
	for _, head := range l.Heads {
		if isKey(head) {
			continue
		}
		// The path may end in small values that many objects refer to, such as strings.
		t := tree.TraceTo(head, true, tree.BytesOf)
		for _, b := range t.Branches[slices.Index(t.Branches, head):] {
			if made = w.allocatedBy(b); made != nil {
				break
			}
		}
		break
	}
	if c := l.Container(); c != nil {
		filled = w.allocatedBy(c)
	}
	if root, by := l.Registry(); by != nil {
		for _, m := range w.Makers[root] {
			if filled == nil || strings.Contains(filled[0].At, "_test.go:") {
				filled = w.callsOf(m.Stack)
			}
		}
	}
	return made, filled
}

// maker names the program's call that made what grows, or what comes with it, or what goroutines
// hold; nil if it is not known, or the go statement of the goroutines, which the message has. A
// call of test code is the last choice.
func (w *Wording) maker(l *finding.Leak) []string {
	if l.IsResource() {
		return nil // see madeBy
	}
	isTest := func(c verdict.Call) bool { return strings.Contains(c.At, "_test.go:") }
	var best *verdict.Call
	consider := func(calls []verdict.Call) {
		for i, c := range calls {
			if best == nil || isTest(*best) && !isTest(c) {
				best = &calls[i]
			}
		}
	}
	for _, of := range append([]*finding.Leak{l}, l.With...) {
		made, filled := w.making(of)
		consider(made)
		consider(filled)
		if best != nil && !isTest(*best) {
			break
		}
	}
	tree.Forest(l.Heads).All(func(b *tree.Branch) bool {
		if l.Goroutines != nil && best == nil {
			consider(w.allocatedBy(b))
		}
		return best == nil
	})
	if best == nil || l.Goroutines != nil && best.At == l.Origin.CreatedAt {
		return nil
	}
	return []string{"made by " + w.callText(pile.Call{Function: best.Function, At: best.At})}
}

// isKey reports whether a branch is strings that are the keys of a map, which callers often make.
func isKey(b *tree.Branch) bool { return strings.HasPrefix(b.Name, "[$key]") && b.Typ == "string" }

// isIdle reports whether goroutines wait for a connection that its transport keeps for later
// requests. Who made that transport has to close them.
func (w *Wording) isIdle(l *finding.Leak) bool {
	i := l.Goroutines.Cause(&l.Origin, w.Env.IsProgram)
	return i >= 0 && pile.Causes[i].Text == pile.IdleConnections
}

// transportOf returns the calls that made the transports of idle connections, if these grow, too.
func (w *Wording) transportOf(l *finding.Leak) (made []verdict.Call) {
	tree.Forest(l.Heads).All(func(b *tree.Branch) bool {
		if made == nil && strings.TrimLeft(b.Typ, "*") == "net/http.Transport" {
			made = w.allocatedBy(b)
		}
		return true
	})
	return made
}

// allocatedBy returns the program's calls on the stack that allocated most of the memory of a
// branch in the recorded batch.
func (w *Wording) allocatedBy(b *tree.Branch) []verdict.Call {
	bytes := make(map[string]int64)
	stacks := make(map[string][]refscan.SourceFrame)
	for _, a := range w.recordsOf(b) {
		key := fmt.Sprint(a.Stack)
		bytes[key] += a.Bytes
		stacks[key] = a.Stack
	}
	top := ""
	for key, n := range bytes {
		if n > bytes[top] || n == bytes[top] && key < top {
			top = key
		}
	}
	if bytes[top] <= 0 {
		return nil
	}
	var calls []pile.Call
	for _, f := range stacks[top] {
		calls = append(calls, pile.Call{Function: f.Func, At: fmt.Sprintf("%s:%d", f.File, f.Line)})
	}
	return w.callsOf(calls)
}

// recordsOf returns how often each stack allocated objects of a branch in the recorded batch, as
// far as they are alive. Allocations from before that batch are subtracted, since those were
// recorded as a random sample.
func (w *Wording) recordsOf(b *tree.Branch) []refscan.Allocation {
	before := w.Recorded
	if before == nil && w.Env.AllAllocations {
		before = w.First()
	}
	if before == nil {
		return nil
	}
	key := b.GrowthKey()
	var records []refscan.Allocation
	add := func(m *history.Snapshot, sign int64) {
		m.Forest.All(func(b *tree.Branch) bool {
			if b.GrowthKey() == key {
				for _, a := range b.Allocations {
					a.Objects, a.Bytes = sign*a.Objects, sign*a.Bytes
					records = append(records, a)
				}
			}
			return true
		})
	}
	add(w.Last(), 1)
	add(before, -1)
	return records
}

// callsOf returns the program's calls among those of a stack.
func (w *Wording) callsOf(stack []pile.Call) []verdict.Call {
	var calls []verdict.Call
	for _, c := range stack {
		if w.Env.IsProgram(symbol.Package(c.Function)) && len(calls) < maxMade {
			calls = append(calls, verdict.Call{Function: c.Function, At: c.At})
		}
	}
	return calls
}
