package finding

import (
	"math"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// fold moves each leak that comes with another one into With of that leak: the other side of a
// connection, the goroutines of one transaction, and the standard library's records of them. Such
// leaks belong to one family of packages and grow at the same rate, and those that follow contain
// nothing of the program's. So a fix for the first leak removes them too.
func fold(f *Finder, leaks []*Leak) []*Leak {
	leaders := make(map[string]*Leak) // by family
	for _, l := range leaks {
		for _, family := range families(f, l) {
			if first := leaders[family]; first == nil || order(f, l) < order(f, first) {
				leaders[family] = l
			}
		}
	}
	var rest []*Leak
	for _, l := range leaks {
		first := leaderOf(f, l, leaders)
		if first == nil {
			first = timerOf(l, leaks)
		}
		if first == nil {
			first = handleOf(f, l, leaks)
		}
		if first != nil {
			first.With = append(first.With, l)
		} else {
			rest = append(rest, l)
		}
	}
	return rest
}

// leaderOf returns the leak that l comes with: the first of one of its families, if both grow in
// step. It returns nil if l stands alone.
func leaderOf(f *Finder, l *Leak, leaders map[string]*Leak) *Leak {
	if hasProgram(f, l) {
		return nil
	}
	for _, family := range families(f, l) {
		if first := leaders[family]; first != l && series.KeepStep(first.PerCall(), l.PerCall()) {
			return first
		}
	}
	return nil
}

// timerOf returns the leak that piled-up timers belong to, nil if there is none. Timers of package
// time belong to goroutines that wait for their channel. The runtime's record of all timers belongs
// to any other leak.
func timerOf(l *Leak, leaks []*Leak) *Leak {
	if l.Goroutines != nil {
		return nil
	}
	root := l.Heads[0].Line()[0]
	isTime := root.Root.Kind == refscan.RootTimer && symbol.Package(strings.TrimPrefix(root.Name, symbol.TimerRoot)) == "time"
	for _, first := range leaks {
		switch g := first.Goroutines; {
		case first == l:
		case root.Name == symbol.TimerHeaps:
			return first
		case isTime && g != nil && (g.State == "select" || g.State == "chan receive") && series.KeepStep(first.PerCall(), l.PerCall()):
			return first
		}
	}
	return nil
}

// handleOf returns the leak that growing records of package unique belong to, nil if there is none.
// Package unique removes values without handles, so growth of the program's at the same rate holds
// the handles.
func handleOf(f *Finder, l *Leak, leaks []*Leak) *Leak {
	if !isUniqueRecord(l) {
		return nil
	}
	for _, first := range leaks {
		if !isUniqueRecord(first) && hasProgram(f, first) && series.KeepStep(first.PerCall(), l.PerCall()) {
			return first
		}
	}
	return nil
}

// isUniqueRecord reports whether a leak is the table of package unique, or the cleanups that take
// values out of it (go1.26 and go1.27 unique/handle.go and canonmap.go).
func isUniqueRecord(l *Leak) bool {
	if l.Goroutines != nil {
		return false
	}
	head := l.Heads[0]
	root := head.Line()[0]
	return root.Name == "unique.uniqueMaps" || root.Root.Kind == refscan.RootCleanup && strings.HasPrefix(head.Typ, "func unique.(")
}

// families returns the families of packages that a leak belongs to, sorted.
func families(f *Finder, l *Leak) []string {
	var found []string
	add := func(family string) {
		if family != "" && !slices.Contains(found, family) {
			found = append(found, family)
		}
	}
	if l.Goroutines == nil {
		line := l.Heads[0].Line()
		if message.IsDeferredCall(line[0]) || message.IsGoroutineRecord(line[0]) {
			add("deferred calls in " + line[0].Root.CreatedAt)
		}
		if message.ContextChild(line) != "" || !hasProgram(f, l) {
			add(message.FamilyOf(line))
		}
		return found
	}
	add(message.Families[symbol.Package(l.Origin.Start())])
	for _, c := range l.Goroutines.Calls {
		add(message.Families[symbol.Package(c.Function)])
	}
	slices.Sort(found)
	return found
}

// hasProgram reports whether a leak involves the program: its functions on the goroutines' stacks,
// or its packages and types on the path.
func hasProgram(f *Finder, l *Leak) bool {
	if l.Goroutines != nil {
		return l.Goroutines.HasProgram(f.Env.IsProgram)
	}
	line := l.Heads[0].Line()
	if message.IsGoroutineRecord(line[0]) {
		return message.IsDeferredCall(line[0])
	}
	return f.Env.IsProgram(line[0].Root.Package) || slices.ContainsFunc(line, func(b *tree.Branch) bool { return f.Env.MentionsProgram(b.Typ) })
}

// order ranks the leaks of a family; the lowest rank leads. Goroutines that run the program's
// functions, and heap growth of the program's, come first. Goroutines whose usual cause is known,
// other goroutines, and other heap growth follow. The runtime's record of names and types that
// package reflect made comes last, after reflect's own.
func order(f *Finder, l *Leak) int {
	const last = math.MaxInt
	switch {
	case l.Goroutines == nil && hasProgram(f, l):
		return 0
	case l.Goroutines == nil && l.Heads[0].Line()[0].Name == message.ReflectNames:
		return last
	case l.Goroutines == nil:
		return last - 1
	case l.Goroutines.HasProgram(f.Env.IsProgram):
		return 0
	}
	if i := l.Goroutines.Cause(&l.Origin, f.Env.IsProgram); i >= 0 {
		return 1 + i
	}
	return last - 2
}
