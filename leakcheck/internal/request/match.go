package request

import (
	"github.com/leakgate/leakgate/internal/nodename"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// Selects returns the topmost branches that the selector matches, each of which stands for all
// below it. A selector of types returns the branches whose own objects match.
func (s *Selector) Selects(f tree.Forest) []*tree.Branch {
	var found []*tree.Branch
	f.All(func(b *tree.Branch) bool {
		switch s.Kind {
		case selectRoot:
			if s.Path.MatchWhole(b.Name) || b.Root.Kind == refscan.RootFrame && s.Path.MatchPrefix(b.Name) || b.StartedIn(s.Path) {
				found = append(found, b)
			}
			return false
		case SelectPath:
			if s.Path.MatchPrefix(b.Path) {
				found = append(found, b)
				return false
			}
		default:
			if s.Types.Matches(b.Typ) {
				found = append(found, b)
			}
		}
		return true
	})
	return found
}

// ByType reports whether the selector selects single objects by their type, not branches with all
// below them.
func (s *Selector) ByType() bool { return s.Kind == selectType || s.Kind == selectTypeNamed }

// Figures returns the figures of a selected branch that count. Untyped objects are counted at their
// nearest typed holder, whose type is not theirs, so they do not count for a selector of types.
func (s *Selector) Figures(b *tree.Branch) tree.Tally {
	if s.ByType() {
		return tree.Tally{Objects: b.Objects - b.UntypedObjects, Bytes: b.Bytes - b.UntypedBytes}
	}
	return b.Total
}

func (s *Selector) Sum(branches []*tree.Branch) tree.Tally {
	var t tree.Tally
	for _, b := range branches {
		t = t.Plus(s.Figures(b))
	}
	return t
}

// Known reports whether the program has what the selector names: a bound on a name that does not
// exist must not pass.
func (s *Selector) Known(names naming.Inventory) bool {
	if s.Path.Special != "" {
		return s.Path.KnownSpecial(names)
	}
	switch s.Kind {
	case selectType:
		return true // the compiler checks that the type exists
	case selectTypeNamed:
		for _, n := range names.TypeNames() {
			if s.Types.Matches(naming.CleanType(n)) {
				return true
			}
		}
		return false
	case SelectPath:
		return names.KnownRoot(func(name string) bool {
			name = nodename.Fold(symbol.Unescape(name))
			return s.Path.MatchPrefix(name) || s.Path.MatchBelow(name)
		})
	default:
		return names.KnownRoot(func(name string) bool {
			return s.Path.MatchPrefix(nodename.Fold(symbol.Unescape(name)))
		})
	}
}
