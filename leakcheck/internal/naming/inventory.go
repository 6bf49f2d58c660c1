package naming

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// An Inventory lists what exists in the program, whether or not it holds anything now.
// *inventory.Program is one.
type Inventory interface {
	KnownRoot(match func(name string) bool) bool
	RootNames() []string
	TypeNames() []string
	KnownType(match func(name string) bool) (known, ofObjects bool)
	MissingField(variable, path string) *debuginfo.MissingField
	Declaration(variable string) (file string, line int)
}

// KnownSpecial reports whether the program has the function that a pattern for the root of a timer
// or goroutine names, or may have a timer of that name without one; or whether it has the type that
// a pattern for the root of a finalizer, cleanup or weak pointer names.
func (p *Pattern) KnownSpecial(names Inventory) bool {
	end := ")"
	if p.Special == symbol.GoroutineRoot {
		end = ""
	}
	is := func(name string) bool {
		root := p.Special + name + end
		return p.MatchPrefix(root) || p.MatchBelow(root)
	}
	if is("?") {
		return true
	}
	if p.Special == symbol.TimerRoot || end == "" {
		ofFunction := func(root string) bool {
			// each function has the root of its temporary values, and a method value is a function
			root = strings.TrimSuffix(symbol.Unescape(root), "."+symbol.Temporary)
			return is(root) || is(strings.TrimSuffix(root, "-fm"))
		}
		return slices.ContainsFunc(symbol.TimerNames(), is) || names.KnownRoot(ofFunction)
	}
	for _, typ := range names.TypeNames() {
		typ = strings.TrimPrefix(CleanType(typ), "*")
		if is("*"+typ) || is("[]"+typ) || is(typ) {
			return true
		}
	}
	return false
}

// Known reports whether the program has such a package: one with a variable, a function or a type.
func (ps Packages) Known(names Inventory) bool {
	is := func(name string) bool { return ps.Include(symbol.Package(name)) }
	return names.KnownRoot(is) || slices.ContainsFunc(names.TypeNames(), is)
}
