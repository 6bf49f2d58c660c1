package leakcheck

import "github.com/leakgate/leakgate/refscan"

// startedIn reports whether a root is a variable of a goroutine whose function or entry function the
// pattern names.
func (b *branch) startedIn(p pattern) bool {
	info := b.root
	if info.Kind != refscan.RootFrame {
		return false
	}
	return info.Func != "" && p.matchPrefix(unescapePath(info.Func)) ||
		info.Goroutine != "" && p.matchPrefix(unescapePath(info.Goroutine))
}

// selects returns the topmost branches that the selector means, each with all below it; for types, the
// branches whose own objects are meant.
func (s *Selector) selects(f forest) []*branch {
	var found []*branch
	f.all(func(b *branch) bool {
		switch s.kind {
		case selectRoot:
			if s.path.matchWhole(b.name) || b.root.Kind == refscan.RootFrame && s.path.matchPrefix(b.name) || b.startedIn(s.path) {
				found = append(found, b)
			}
			return false
		case selectPath:
			if s.path.matchPrefix(b.path) {
				found = append(found, b)
				return false
			}
		default:
			if s.types.matches(b.typ) {
				found = append(found, b)
			}
		}
		return true
	})
	return found
}

// byType reports whether the selector means single objects, not all that lies below.
func (s *Selector) byType() bool { return s.kind == selectType || s.kind == selectTypeNamed }

// figures returns what counts of one branch that the selector means. Untyped objects are counted at
// their nearest typed holder, whose type is not theirs.
func (s *Selector) figures(b *branch) tally {
	if s.byType() {
		return tally{b.objects - b.untypedObjects, b.bytes - b.untypedBytes}
	}
	return b.total
}

func (s *Selector) sum(branches []*branch) tally {
	var t tally
	for _, b := range branches {
		t = t.plus(s.figures(b))
	}
	return t
}

// An inventory lists what exists in the program, whether or not it holds anything now. *refscan.Report
// is one.
type inventory interface {
	KnownRoot(match func(name string) bool) bool
	RootNames() []string
	TypeNames() []string
	Declaration(variable string) (file string, line int)
}

// known reports whether the program has what the selector names: a bound on nothing must not pass.
func (s *Selector) known(names inventory) bool {
	switch s.kind {
	case selectType:
		return true // the compiler has seen to it
	case selectTypeNamed:
		for _, n := range names.TypeNames() {
			if s.types.matches(cleanType(n)) {
				return true
			}
		}
		return false
	case selectPath:
		return names.KnownRoot(func(name string) bool {
			name = refscan.FoldName(unescapePath(name))
			return s.path.matchPrefix(name) || s.path.matchBelow(name)
		})
	default:
		return names.KnownRoot(func(name string) bool {
			return s.path.matchPrefix(refscan.FoldName(unescapePath(name)))
		})
	}
}

// known reports whether the program has such a package: one with a variable, a function or a type.
func (ps packages) known(names inventory) bool {
	if names.KnownRoot(func(name string) bool { return ps.include(packageOf(name)) }) {
		return true
	}
	for _, n := range names.TypeNames() {
		if ps.include(packageOf(n)) {
			return true
		}
	}
	return false
}
