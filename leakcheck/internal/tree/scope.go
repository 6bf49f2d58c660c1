package tree

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// A Scope selects the roots that count.
type Scope struct {
	Packages  []naming.Packages // empty: every root
	SkipTests bool              // leave out the variables of running test functions
}

// Keep returns the roots that a scope includes.
func (f Forest) Keep(s Scope) Forest {
	var kept Forest
	pruned := false
	for _, b := range f {
		if s.Includes(b.Root) {
			kept = append(kept, b)
			continue
		}
		if b.Root.Kind == refscan.RootTimer {
			if part := s.inScopeBelow(b); part != nil {
				kept, pruned = append(kept, part), true
			}
		}
	}
	if pruned {
		// copies, with parents and totals of their own
		kept, _ = kept.without(func(*Branch) bool { return false })
	}
	return kept
}

// IncludesAny reports whether a scope includes any of some roots.
func (s *Scope) IncludesAny(f Forest) bool {
	return slices.ContainsFunc(f, func(b *Branch) bool { return s.Includes(b.Root) })
}

// Includes reports whether a scope includes a root.
func (s *Scope) Includes(info *refscan.RootInfo) bool {
	if s.SkipTests && (IsTestFrame(info) || isRuntimeFrame(info)) {
		return false
	}
	if len(s.Packages) == 0 || s.IncludesPackage(info.Package) || info.Kind == refscan.RootNative && info.Package == "C" {
		return true
	}
	if info.Kind != refscan.RootFrame {
		return false
	}
	for _, function := range []string{info.Func, info.Goroutine, info.CreatedBy} {
		if function != "" && s.IncludesPackage(symbol.Package(function)) {
			return true
		}
	}
	return false
}

func (s *Scope) IncludesPackage(pkg string) bool {
	for _, ps := range s.Packages {
		if ps.Include(pkg) {
			return true
		}
	}
	return false
}

// IsTestFrame reports whether the root is a variable of a test function that is running.
func IsTestFrame(info *refscan.RootInfo) bool {
	return info.Kind == refscan.RootFrame && (info.Test || info.Caller)
}

// isRuntimeFrame reports whether the root is a variable of a function of package runtime or of an
// internal package. Such a variable is a second path to what the goroutine waits for, and differs
// between Go releases.
func isRuntimeFrame(info *refscan.RootInfo) bool {
	if info.Kind != refscan.RootFrame {
		return false
	}
	pkg := info.Package
	return pkg == "runtime" || strings.HasPrefix(pkg, "runtime/") || strings.HasPrefix(pkg, "internal/")
}

// inScopeBelow returns the part of a standard library timer that belongs to a scope: the branches
// at or below a type of the scope's packages. A timer's name is the function that it runs, which
// for a context's timeout is the library's, so that the packages of the values below it decide. The
// branches above those values have no figures of their own, since other timers share them.
func (s *Scope) inScopeBelow(b *Branch) *Branch {
	if s.includesType(b.Typ) {
		return b
	}
	c := *b
	c.Children = nil
	for _, child := range b.Children {
		if kept := s.inScopeBelow(child); kept != nil {
			c.Children = append(c.Children, kept)
		}
	}
	if c.Children == nil {
		return nil
	}
	c.Figures, c.Allocations = refscan.Figures{Len: b.Len, Cap: b.Cap, Beyond: b.Beyond}, nil // those are about what it holds
	return &c
}

// includesType reports whether a type is, or is made of, a type of the scope's packages.
func (s *Scope) includesType(typ string) bool {
	for pkg := range naming.NamedTypes(typ) {
		if s.IncludesPackage(pkg) {
			return true
		}
	}
	return false
}
