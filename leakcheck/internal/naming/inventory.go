package naming

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/inventory"
	"github.com/leakgate/leakgate/internal/symbol"
)

// An Inventory lists what exists in the program, whether or not it holds anything now.
// *inventory.Program is one.
type Inventory interface {
	KnownRoot(match func(name string) bool) bool
	RootNames() []string
	TypeNames() []string
	KnownType(match func(name string) bool) (known, ofObjects bool)
	MissingField(variable, path string) *inventory.MissingField
	Declaration(variable string) (file string, line int)
}

// KnownSpecial reports whether the program has the function that a pattern for a timer root names,
// or may have a timer of that name without one; or whether it has the type that a pattern for a
// finalizer or cleanup root names.
func (p *Pattern) KnownSpecial(names Inventory) bool {
	if p.Special == "timer(" {
		is := func(name string) bool {
			root := p.Special + symbol.Unescape(name) + ")"
			return p.MatchPrefix(root) || p.MatchBelow(root)
		}
		return slices.ContainsFunc(symbol.TimerNames(), is) || names.KnownRoot(is)
	}
	for _, typ := range names.TypeNames() {
		root := p.Special + "*" + strings.TrimPrefix(CleanType(typ), "*") + ")"
		if p.MatchPrefix(root) || p.MatchBelow(root) {
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
