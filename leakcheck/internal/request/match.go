package request

import (
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// Selects returns the topmost branches that the selector matches, each of which stands for all
// below it. A selector of types returns the branches whose own objects match.
func (s *Selector) Selects(f tree.Forest) []*tree.Branch {
	var found []*tree.Branch
	f.All(func(b *tree.Branch) bool {
		switch s.Kind {
		case selectRoot:
			if s.isRoot(b.Name, b.Root) {
				found = append(found, b)
			}
			return false
		case SelectPath:
			if s.Path.MatchPrefix(b.Path) && !s.passesBy(b.Path) {
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
	if strings.Contains(s.Path.Text, ".so") {
		return true // a variable of a library in C: nothing lists those that hold nothing
	}
	switch s.Kind {
	case selectType:
		return true // the compiler checks that the type exists
	case selectTypeNamed:
		known, ofObjects := s.KnownType(names)
		return ofObjects || known && s.Types.Pointer
	case SelectPath:
		return names.KnownRoot(func(name string) bool {
			name = symbol.FoldPath(symbol.Unescape(name))
			return s.Path.MatchPrefix(name) || s.Path.MatchBelow(name)
		})
	default:
		return names.KnownRoot(func(name string) bool {
			return s.Path.MatchPrefix(symbol.FoldPath(symbol.Unescape(name)))
		})
	}
}

// KnownAsPath reports whether a selector of roots names none, but would be a path as one of paths:
// "app.srv.conns" is a field of the root "app.srv".
func (s *Selector) KnownAsPath(names naming.Inventory) bool {
	path := *s
	path.Kind = SelectPath
	if s.Kind != selectRoot || !path.Known(names) {
		return false
	}
	_, missing := path.MissingField(names)
	return missing == nil
}

// KnownType reports whether the program has a type that a pattern of types is for, and whether it
// has one that objects have. A type is known by its own name, not by that of pointers to it: a
// pointer to an interface or to a func value is one to a variable, of which there may be none.
// Wildcards do not make the name of a function that of a type.
func (s *Selector) KnownType(names naming.Inventory) (known, ofObjects bool) {
	closures := strings.HasPrefix(s.Types.Pattern.Text, naming.ClosurePrefix)
	return names.KnownType(func(name string) bool {
		return !strings.HasPrefix(name, "*") && (closures || !strings.HasPrefix(name, naming.ClosurePrefix)) && s.Types.Matches(naming.CleanType(name))
	})
}

// MissingField returns the first field in the selector's path that certainly no path goes by: the
// types of all roots that the path may begin at lack it. It returns nil if there is none. root is
// the part of the selector's path that is a root's name.
func (s *Selector) MissingField(names naming.Inventory) (root string, missing *debuginfo.MissingField) {
	if s.Kind != SelectPath || s.Path.Special != "" {
		return "", nil
	}
	possible := names.KnownRoot(func(name string) bool {
		clean := symbol.FoldPath(symbol.Unescape(name))
		if !s.Path.MatchBelow(clean) {
			return s.Path.MatchPrefix(clean)
		}
		variable, path := s.Path.Below(clean)
		f := names.MissingField(name, path)
		if f == nil || !strings.HasPrefix(f.Struct, "struct {") && symbol.OwnModules().IsStandard(symbol.Package(f.Struct)) {
			return true
		}
		root, missing = variable, f
		return false
	})
	if possible {
		return "", nil
	}
	return root, missing
}
