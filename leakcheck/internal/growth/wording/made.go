package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// maxMade is how many calls of a stack a record has.
const maxMade = 16

// making returns the program's calls on the stack that made what grows, and on the one that filled
// the container that it is an element of, innermost first; nil if they are not known.
func making(w *Wording, l *finding.Leak) (made, filled []verdict.Call) {
	switch {
	case l.Goroutines != nil && isIdle(w, l):
		return transportOf(w, l), nil
	case l.Goroutines != nil:
		// The first of the ancestors is the go statement, which is known more precisely.
		made = callsOf(w, []goroutine.Call{{Function: l.Origin.CreatedBy, At: l.Origin.CreatedAt}})
		for i, c := range l.Goroutines.Ancestors {
			if calls := callsOf(w, []goroutine.Call{c}); i > 0 && calls != nil && len(made) < maxMade {
				calls[0].Calls = l.Goroutines.Ancestors[i-1].Function
				made = append(made, calls...)
			}
		}
		return made, nil
	case l.IsResource():
		for _, by := range w.Makers[l.Resources[0].Kind.String()] {
			// A test's own does not excuse the others.
			if made == nil || strings.Contains(made[0].At, "_test.go:") {
				made = callsOf(w, by.Stack)
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
			if made = allocatedBy(w, b); made != nil {
				break
			}
		}
		break
	}
	if c := l.Container(); c != nil {
		filled = allocatedBy(w, c)
	}
	if root, by := l.Registry(); by != nil {
		for _, m := range w.Makers[root] {
			if filled == nil || strings.Contains(filled[0].At, "_test.go:") {
				filled = callsOf(w, m.Stack)
			}
		}
	}
	return made, filled
}

// maker names the program's call that made what grows, or what comes with it, or what goroutines
// hold; nil if it is not known, or the go statement of the goroutines, which the message has. A
// call of test code is the last choice.
func maker(w *Wording, l *finding.Leak) []string {
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
	for _, one := range append([]*finding.Leak{l}, l.With...) {
		made, filled := making(w, one)
		consider(made)
		consider(filled)
		if best != nil && !isTest(*best) {
			break
		}
	}
	tree.Forest(l.Heads).All(func(b *tree.Branch) bool {
		if l.Goroutines != nil && best == nil {
			consider(allocatedBy(w, b))
		}
		return best == nil
	})
	if best == nil || l.Goroutines != nil && best.At == l.Origin.CreatedAt {
		return nil
	}
	return []string{"made by " + w.callText(goroutine.Call{Function: best.Function, At: best.At})}
}

// isKey reports whether a branch is strings that are the keys of a map, which callers often make.
func isKey(b *tree.Branch) bool { return strings.HasPrefix(b.Name, "[$key]") && b.Typ == "string" }

// isIdle reports whether goroutines wait for a connection that its transport keeps for later
// requests. Who made that transport has to close them.
func isIdle(w *Wording, l *finding.Leak) bool {
	i := l.Goroutines.Cause(&l.Origin, w.Env.IsProgram)
	return i >= 0 && goroutine.Causes[i].Text == goroutine.IdleConnections
}

// transportOf returns the calls that made the transports of idle connections, if these grow, too.
func transportOf(w *Wording, l *finding.Leak) (made []verdict.Call) {
	tree.Forest(l.Heads).All(func(b *tree.Branch) bool {
		if made == nil && strings.TrimLeft(b.Typ, "*") == "net/http.Transport" {
			made = allocatedBy(w, b)
		}
		return true
	})
	return made
}

// allocatedBy returns the program's calls on the stack that allocated most of the memory of a
// branch in the recorded batch.
func allocatedBy(w *Wording, b *tree.Branch) []verdict.Call {
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
	var calls []goroutine.Call
	for _, f := range stacks[top] {
		calls = append(calls, goroutine.Call{Function: f.Func, At: fmt.Sprintf("%s:%d", f.File, f.Line)})
	}
	return callsOf(w, calls)
}

// callsOf returns the program's calls among those of a stack.
func callsOf(w *Wording, stack []goroutine.Call) []verdict.Call {
	var calls []verdict.Call
	for _, c := range stack {
		if w.Env.IsProgram(symbol.Package(c.Function)) && len(calls) < maxMade {
			calls = append(calls, verdict.Call{Function: c.Function, At: c.At})
		}
	}
	return calls
}
