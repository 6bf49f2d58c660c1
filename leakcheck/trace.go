package leakcheck

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/leakgate/leakgate/refscan"
)

// How much of a trace a message shows.
const (
	maxTraceLines = 14 // of one path; the middle of a longer one is left out
	maxOthers     = 5  // paths beside the trace
	maxNameShown  = 120
)

// A trace is the path from a root to the branch where most of the memory sits.
type trace struct {
	branches []*branch
	weight   func(tally) int64
	note     func(*branch) string // what else is to be said of each branch; nil: nothing
	grows    *branch              // the first that grows, below those that do not; nil: nothing is known of that
}

// traceTo follows the path to b, and where everything below b counts, on to where most of it sits: to the
// first branch that has at least half of what it and all below it hold.
func traceTo(b *branch, below bool, weight func(tally) int64) *trace {
	t := &trace{branches: b.line(), weight: weight}
	for below && len(b.children) > 0 && 2*weight(b.own()) < weight(b.total) {
		b = largestOf(b.children, weight, true)
		t.branches = append(t.branches, b)
	}
	return t
}

// last is where a trace ends.
func (t *trace) last() *branch { return t.branches[len(t.branches)-1] }

// largestOf returns the first of the largest branches, each by itself or with all below it.
func largestOf(branches []*branch, weight func(tally) int64, below bool) *branch {
	var top *branch
	var most tally
	for _, b := range branches {
		figures := b.own()
		if below {
			figures = b.total
		}
		if top == nil || compareTallies(weight, figures, most) > 0 {
			top, most = b, figures
		}
	}
	return top
}

// compareTallies compares by weight, and by bytes where that is equal.
func compareTallies(weight func(tally) int64, a, b tally) int {
	return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(a.bytes, b.bytes))
}

func (b *branch) own() tally { return tally{b.objects, b.bytes} }

const traceHeader = "   objects       bytes"

// suspects returns the first and the last branch that suspect references lead to: from what is rightly alive to
// the first that should not be, since it grows or its use is over. Where no reference is suspect, last is 0.
func (t *trace) suspects() (first, last int) {
	for i, b := range t.branches {
		switch {
		case b == t.grows && i > 0:
			return i, i
		case b == t.grows || b.isOver():
			return 1, i
		}
	}
	return 1, 0
}

const (
	suspectMark   = "  ~"
	suspectLegend = "one of the references marked ~ should have been dropped"
)

// under draws what hangs at the line above it.
func under(depth int, text string) string { return fmt.Sprintf("%*s└─ %s", 3*depth, "", text) }

// lines draws the trace, one line an edge, with what each branch has by itself.
func (t *trace) lines() []string {
	lines := []string{traceHeader}
	depth := 0
	first, last := t.suspects()
	add := func(figures, text string) {
		if depth > 0 {
			text = under(depth-1, text)
		}
		lines = append(lines, figures+text)
		depth++
	}
	left := max(0, len(t.branches)-maxTraceLines) // out
	for i, b := range t.branches {
		switch {
		case left > 0 && i == maxTraceLines/2:
			add(fmt.Sprintf("%24s", ""), "… "+countNoun(int64(left), "edge")+" more")
		case left == 0 || i < maxTraceLines/2 || i >= maxTraceLines/2+left:
			mark := ""
			if t.note != nil {
				mark = t.note(b)
			}
			if first <= i && i <= last {
				mark += suspectMark
			}
			add(b.figures(), b.name+b.describe()+mark)
		}
	}
	if last > 0 {
		lines = append(lines, suspectLegend)
	}
	return lines
}

func (b *branch) figures() string {
	if b.objects == 0 && b.bytes == 0 {
		return fmt.Sprintf("%10s  %10s  ", "-", "-")
	}
	return fmt.Sprintf("%10s  %10s  ", count(b.objects), byteCount(b.bytes))
}

// describe returns a branch's type, and what else is to be said of it.
func (b *branch) describe() string {
	s := ""
	if b.typ != "" {
		s = "  " + abridge(shortName(b.typ), maxNameShown)
	}
	if b.elems > 0 {
		s += ", " + countNoun(b.elems, "entry")
	}
	switch {
	case b.isOver():
		s += ", " + b.endedState
	case b.ended > 0:
		s += fmt.Sprintf(", %s of them %s", count(b.ended), b.endedState)
	}
	if b.untypedObjects > 0 {
		s += fmt.Sprintf(", %s of unknown type", count(b.untypedObjects))
	}
	return s
}

// isOver reports whether the use of all objects of a branch is over.
func (b *branch) isOver() bool { return b.ended > 0 && b.ended >= b.objects }

// abridge leaves out the middle of a long name.
//
//go:noinline
func abridge(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	r := []rune(s)
	return string(r[:limit/2]) + "…" + string(r[len(r)-limit/2+1:])
}

// others lists the largest branches below the culprits that the trace does not show.
func (t *trace) others(culprits []*branch, below bool) []string {
	var found []*branch
	add := func(b *branch) {
		if t.weight(b.own()) > 0 && !slices.Contains(t.branches, b) {
			found = append(found, b)
		}
	}
	for _, c := range culprits {
		if !below {
			add(c)
			continue
		}
		forest{c}.all(func(b *branch) bool { add(b); return true })
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if c := compareTallies(t.weight, b.own(), a.own()); c != 0 {
			return c < 0
		}
		return a.path < b.path
	})
	var lines []string
	for _, b := range found[:min(len(found), maxOthers)] {
		lines = append(lines, b.figures()+abridge(b.path, maxNameShown)+b.describe())
	}
	if rest := len(found) - maxOthers; rest > 0 {
		lines = append(lines, fmt.Sprintf("%24s… and %s", "", countNoun(int64(rest), "path")+" more"))
	}
	return lines
}

// heldBy says in words what the root of a branch is, where it is declared, and for goroutines where they
// come from.
func heldBy(b *branch, env *environment) []string {
	root := b.line()[0]
	info := root.root
	where := ""
	declared := env.declaration(root)
	if p := env.place(declared.file, declared.line); p != "" {
		where = " (" + p + ")"
	}
	switch info.Kind {
	case refscan.RootGlobal:
		return []string{"held by the package variable " + root.name + where}
	case refscan.RootFinalizer:
		return []string{"held by a finalizer (runtime.SetFinalizer): " + root.name + where}
	case refscan.RootCleanup:
		return []string{"held by a cleanup (runtime.AddCleanup): " + root.name + where}
	case refscan.RootFrame:
		return heldByFrame(root, where, env)
	}
	return []string{"held by " + root.name + ", which is not a variable of the program"}
}

func heldByFrame(root *branch, where string, env *environment) []string {
	info := root.root
	variable := nameInFrame(root.name, unescapePath(info.Func))
	switch {
	case info.Caller:
		return []string{
			"held by your test itself: " + variable + where,
			"it is used after this assertion, so it is still alive: assert after its last use, or use it in a function of its own",
		}
	case info.Test:
		return []string{
			"held by a test function that is still running: " + variable + where,
			"tests that run at the same time share one process: narrow the assertion with Scope or Since, or run this test alone",
		}
	}
	lines := []string{"held by " + variable + where}
	from := "in a goroutine"
	if info.Goroutines > 1 {
		from = "in " + countNoun(info.Goroutines, "goroutine")
	}
	if info.Goroutine != "" && info.Goroutine != info.Func {
		from += " started in " + unescapePath(info.Goroutine)
	}
	if info.CreatedBy != "" {
		from += ", created by " + unescapePath(info.CreatedBy)
		if at := env.placeOf(info.CreatedAt); at != "" {
			from += " (" + at + ")"
		}
	}
	return append(lines, from)
}

// nameInFrame says which variable of which function a frame root is. The variables of a function that
// was inlined carry its name, not that of the function whose frame they are in.
func nameInFrame(root, function string) string {
	if function == "" {
		return "the variable " + root
	}
	if variable, ok := strings.CutPrefix(root, function+"."); ok {
		return stackName(variable) + " of " + function
	}
	dot := strings.LastIndexByte(root, '.')
	if dot < 0 {
		return "the variable " + root + " of " + function
	}
	variable := stackName(root[dot+1:]) + " of " + root[:dot]
	if strings.Contains(function, ".gowrap") { // the compiler's own, around the call of a go statement
		return variable
	}
	return variable + ", inlined in " + function
}

// stackName says what part of a frame has a name in reports; some has none in the source.
func stackName(variable string) string {
	switch variable {
	case "$tmp":
		return "an unnamed stack slot"
	case "$defer":
		return "a deferred call"
	}
	return "the variable " + variable
}
