package reporttest

import (
	"slices"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Names is a handmade inventory of a program.
type Names struct {
	Roots, Types []string
	Hollow       []string                           // types that no object has
	Missing      map[string]*debuginfo.MissingField // by variable and path
}

// KnownRoot reports whether a root matches.
func (n Names) KnownRoot(match func(string) bool) bool { return slices.ContainsFunc(n.Roots, match) }

// RootNames returns Roots.
func (n Names) RootNames() []string { return n.Roots }

// TypeNames returns Types.
func (n Names) TypeNames() []string { return n.Types }

// KnownType reports whether a type matches, and whether it is one of objects.
func (n Names) KnownType(match func(string) bool) (known, ofObjects bool) {
	ofObjects = slices.ContainsFunc(n.Types, match)
	return ofObjects || slices.ContainsFunc(n.Hollow, match), ofObjects
}

// MissingField returns what Missing has.
func (n Names) MissingField(variable, path string) *debuginfo.MissingField {
	return n.Missing[variable+path]
}

// Declaration returns no place.
func (Names) Declaration(string) (string, int) { return "", 0 }
