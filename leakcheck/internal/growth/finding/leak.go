package finding

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/series"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A Leak is growth at one root, or with the goroutines of one origin, or of resources alone.
type Leak struct {
	Heads   []*tree.Branch // topmost branches that grow, the largest first
	Own     series.Series  // of the first head
	Measure Measure        // of Own
	Total   tree.Tally     // of the heads and all below them
	Moves   bool           // Own counts all objects of the first head's type, wherever they are

	Origin     goroutine.Origin
	Goroutines *goroutine.Pile // nil if no goroutines pile up, and no stacks get deeper
	Piled      series.Series   // of the goroutines, or of the frames on their stacks
	Deepens    bool            // it is the frames

	StartedByProgram bool // though no function of the program's is on their stacks

	With []*Leak // leaks that come with this one

	Resources []*Resource // of the operating system: they come with the leak, or are the leak
}

// sum adds up Total: the heads with all below them, and the bytes of the branches above, such as
// the tables of a map.
func (l *Leak) sum() {
	holders := make(map[*tree.Branch]bool)
	for _, h := range l.Heads {
		l.Total = l.Total.Plus(h.Total)
		for b := h.Parent; b != nil && !holders[b]; b = b.Parent {
			holders[b] = true
			l.Total.Bytes += b.Bytes
		}
	}
}

// Registry returns the name of the registry of the standard library in which a leak lies, and how
// the names of the functions begin that add to it; nil if it lies in none.
func (l *Leak) Registry() (root string, by []string) {
	if len(l.Heads) == 0 {
		return "", nil
	}
	return message.Registry(l.Heads[0].Line()[0])
}

// IsMapper reports whether it is the record of all mappings that grows.
func (l *Leak) IsMapper() bool {
	return len(l.Heads) > 0 && slices.Contains(message.Mappers[:], l.Heads[0].Line()[0].Name)
}

// PerCall is how much the leak's own figure grows with each call.
func (l *Leak) PerCall() float64 {
	switch {
	case l.Goroutines != nil:
		return l.Piled.PerCall()
	case l.IsResource():
		return l.Resources[0].Own.PerCall()
	}
	return l.Own.PerCall()
}

// IsResource reports whether nothing on the heap and no goroutines grow with the leak.
func (l *Leak) IsResource() bool { return len(l.Heads) == 0 && l.Goroutines == nil }

// Container returns the map or slice whose elements grow; nil: none.
func (l *Leak) Container() *tree.Branch {
	if len(l.Heads) == 0 || l.Goroutines != nil {
		return nil
	}
	head := l.Heads[0]
	if strings.HasPrefix(head.Name, "[") && head.Parent != nil {
		return head.Parent
	}
	if l.Measure != InObjects {
		return head
	}
	return nil
}

// CountsTimers reports whether what grows by number is the timers of a root, or the functions that
// they run, with what of them is not known. The root's name says what those are for.
func (l *Leak) CountsTimers() bool {
	if l.Goroutines != nil || l.Measure != InObjects {
		return false
	}
	head := l.Heads[0]
	return head.Parent != nil && head.Parent.Parent == nil && head.Root.Kind == refscan.RootTimer && (head.Name == "$fn" || head.Name == "$timer")
}

// rank orders leaks by how likely they are the program's fault. It is 0 for what the program keeps,
// 1 for the test, and 2 for goroutines of test code, as a server's that a test runs for its client,
// and for the standard library, which as a rule keeps what it was given. It is 3 for package
// reflect's records of the types that it made for callers, who keep the types, too.
func (l *Leak) rank(env *environ.Environment) int {
	switch {
	case l.Goroutines != nil && l.isOfTest(env):
		return 2
	case l.Goroutines != nil || len(l.Heads) == 0:
		return 0 // resources, too
	}
	root := l.Heads[0].Line()[0]
	switch {
	case tree.IsTestFrame(root.Root) || tree.IsHeldOp(root):
		if root.Root.Package == "testing" && l.Total.Objects == 0 {
			return 2 // a list of the objects that a function of t.Cleanup has to release
		}
		return 1
	case root.Name == message.ReflectNames || root.Root.Package == "reflect":
		return 3
	case env.Modules.IsStandard(root.Root.Package), l.IsMapper(), message.IsSpecial(root.Root) && !env.MentionsProgram(root.Name) && !env.MentionsProgram(l.Heads[0].Typ):
		return 2
	}
	return 0
}

// isOfTest reports whether all of the program that goroutines run, and what started them, is in
// files of tests.
func (l *Leak) isOfTest(env *environ.Environment) (found bool) {
	of := goroutine.Call{Function: l.Origin.CreatedBy, At: l.Origin.CreatedAt}
	for _, c := range append(l.Goroutines.Calls[:len(l.Goroutines.Calls):len(l.Goroutines.Calls)], of) {
		if !env.IsProgram(symbol.Package(c.Function)) {
			continue
		}
		if found = strings.Contains(c.At, "_test.go:"); !found {
			return false
		}
	}
	return found
}

// weight estimates the memory of a leak and of those that come with it, in bytes. A goroutine has a
// stack of 2 KiB at least, and few frames have less than 64 bytes.
func (l *Leak) weight() int64 {
	w := l.Total.Bytes
	switch {
	case l.Deepens:
		w += 64 * l.Piled.Grown()
	case l.Goroutines != nil:
		w += 2048 * l.Piled.Grown()
	}
	for _, r := range l.Resources {
		w += r.weight()
	}
	for _, with := range l.With {
		w += with.weight()
	}
	return w
}
