package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// An Ignoring is an Ignore option.
type Ignoring struct {
	Pattern naming.Pattern
	Reason  string
}

// An Ignored sums up the objects that an Ignore left out of one observation.
type Ignored struct {
	Ignoring
	Tally
	Paths int

	Goroutines int64
	Stacks     int64 // bytes of their stacks
}

// String says what was left out: "2 objects, 96 B at app.debug: only in tests".
func (i Ignored) String() string {
	where := i.Pattern.Text
	if i.Paths > 1 {
		where = fmt.Sprintf("%s (%d paths)", where, i.Paths)
	}
	var what []string
	if i.Paths > 0 {
		what = append(what, textfmt.CountNoun(i.Objects, "object")+", "+textfmt.ByteCount(i.Bytes))
	}
	if i.Goroutines > 0 {
		what = append(what, textfmt.CountNoun(i.Goroutines, "goroutine")+" with "+textfmt.ByteCount(i.Stacks)+" of stacks")
	}
	return fmt.Sprintf("%s at %s: %s", strings.Join(what, " and "), where, i.Reason)
}

// IsNothing reports whether the Ignore left nothing out.
func (i Ignored) IsNothing() bool { return i.Paths == 0 && i.Goroutines == 0 }

// ApplyIgnores removes the branches that the ignores match. If several ignores match a branch, the
// first one counts it.
func ApplyIgnores(f Forest, ignores []Ignoring) (Forest, []Ignored) {
	if len(ignores) == 0 {
		return f, nil
	}
	left := make([]Ignored, len(ignores))
	for i, ig := range ignores {
		left[i].Ignoring = ig
	}
	rest, _ := f.without(func(b *Branch) bool {
		for i, ig := range ignores {
			if isAt(ig.Pattern, b.Path, b.ownRoot()) {
				left[i].Tally = left[i].Plus(b.Total)
				left[i].Paths++
				return true
			}
		}
		return false
	})
	return rest, left
}

// Ignores reports whether an Ignore names a path, or its root; root is nil for a path below a root.
func Ignores(ignores []Ignoring, path string, root *refscan.RootInfo) bool {
	return slices.ContainsFunc(ignores, func(ig Ignoring) bool { return isAt(ig.Pattern, path, root) })
}
