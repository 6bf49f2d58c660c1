package growth

import (
	"math"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// fold puts leaks that come with another one behind it: both sides of a connection, the goroutines
// of one transaction, and what the standard library records of them. They are of one family of
// packages, grow at the same rate, and nothing of the program's is in those that follow, so that
// whoever mends the first has mended them too.
func (x *Experiment) fold(leaks []*leak) []*leak {
	leaders := make(map[string]*leak) // by family
	for _, l := range leaks {
		for _, family := range x.families(l) {
			if first := leaders[family]; first == nil || x.order(l) < x.order(first) {
				leaders[family] = l
			}
		}
	}
	var rest []*leak
	for _, l := range leaks {
		first := x.leaderOf(l, leaders)
		if first == nil {
			first = timerOf(l, leaks)
		}
		if first == nil {
			first = x.handleOf(l, leaks)
		}
		if first != nil {
			first.with = append(first.with, l)
		} else {
			rest = append(rest, l)
		}
	}
	return rest
}

// leaderOf returns the leak that another one comes with, nil if it stands alone.
func (x *Experiment) leaderOf(l *leak, leaders map[string]*leak) *leak {
	if x.hasProgram(l) {
		return nil
	}
	for _, family := range x.families(l) {
		if first := leaders[family]; first != l && keepStep(first.perCall(), l.perCall()) {
			return first
		}
	}
	return nil
}

// timerOf returns the leak that timers which pile up belong to, nil if there is none: the
// goroutines that wait for their channel, and for the runtime's record of all timers whatever else
// grows.
func timerOf(l *leak, leaks []*leak) *leak {
	if l.goroutines != nil {
		return nil
	}
	root := l.heads[0].Line()[0]
	isTime := root.Root.Kind == refscan.RootTimer && symbol.Package(strings.TrimPrefix(root.Name, message.TimerRoot)) == "time"
	for _, first := range leaks {
		switch g := first.goroutines; {
		case first == l:
		case root.Name == runtimeTimers:
			return first
		case isTime && g != nil && (g.State == "select" || g.State == "chan receive") && keepStep(first.perCall(), l.perCall()):
			return first
		}
	}
	return nil
}

// handleOf returns the leak that records of package unique belong to: what of the program's grows
// as they do holds the handles, since values that nobody has a handle of go. nil if there is none.
func (x *Experiment) handleOf(l *leak, leaks []*leak) *leak {
	if !isUniqueRecord(l) {
		return nil
	}
	for _, first := range leaks {
		if !isUniqueRecord(first) && x.hasProgram(first) && keepStep(first.perCall(), l.perCall()) {
			return first
		}
	}
	return nil
}

// isUniqueRecord reports whether a leak is the table of package unique, or the cleanups that take
// values out of it (go1.26 and go1.27 unique/handle.go and canonmap.go).
func isUniqueRecord(l *leak) bool {
	if l.goroutines != nil {
		return false
	}
	head := l.heads[0]
	root := head.Line()[0]
	return root.Name == "unique.uniqueMaps" || root.Root.Kind == refscan.RootCleanup && strings.HasPrefix(head.Typ, "func unique.(")
}

// runtimeTimers is the root of the runtime's record of all timers.
const runtimeTimers = "runtime.(timers)"

// families returns the families of packages that a leak belongs to, sorted.
func (x *Experiment) families(l *leak) []string {
	var found []string
	add := func(family string) {
		if family != "" && !slices.Contains(found, family) {
			found = append(found, family)
		}
	}
	if l.goroutines == nil {
		line := l.heads[0].Line()
		if message.IsDeferredCall(line[0]) || message.IsGoroutineRecord(line[0]) {
			add("deferred calls in " + line[0].Root.CreatedAt)
		}
		if message.ContextChild(line) != "" || !x.hasProgram(l) {
			add(message.FamilyOf(line))
		}
		return found
	}
	add(message.Families[symbol.Package(l.origin.start())])
	for _, c := range l.goroutines.Calls {
		add(message.Families[symbol.Package(c.Function)])
	}
	slices.Sort(found)
	return found
}

// hasProgram reports whether anything of the program's is in a leak.
func (x *Experiment) hasProgram(l *leak) bool {
	if l.goroutines != nil {
		return l.goroutines.hasProgram(x.Env.IsProgram)
	}
	line := l.heads[0].Line()
	if message.IsGoroutineRecord(line[0]) {
		return message.IsDeferredCall(line[0])
	}
	return x.Env.IsProgram(line[0].Root.Package) || slices.ContainsFunc(line, func(b *tree.Branch) bool { return x.Env.MentionsProgram(b.Typ) })
}

// order says which of several leaks is the first: goroutines that run the program's functions,
// those whose usual cause is known, others, and what lies on the heap. The runtime's record of
// names and types that package reflect made is behind reflect's own.
func (x *Experiment) order(l *leak) int {
	const last = math.MaxInt
	switch {
	case l.goroutines == nil && x.hasProgram(l):
		return 0
	case l.goroutines == nil && l.heads[0].Line()[0].Name == message.ReflectNames:
		return last
	case l.goroutines == nil:
		return last - 1
	case l.goroutines.hasProgram(x.Env.IsProgram):
		return 0
	}
	if i := l.goroutines.Cause(&l.origin, x.Env.IsProgram); i >= 0 {
		return 1 + i
	}
	return last - 2
}

// perCall is how much the leak's own figure grows with each call.
func (l *leak) perCall() float64 {
	if l.goroutines != nil {
		return l.piled.perCall()
	}
	return l.own.perCall()
}

// keepStep reports whether of two rates one is a small multiple of the other.
func keepStep(a, b float64) bool {
	const most, off = 4, 0.05
	ratio := max(a, b) / min(a, b)
	times := math.Round(ratio)
	return times >= 1 && times <= most && math.Abs(ratio-times) <= off*times
}
