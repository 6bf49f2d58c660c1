package naming

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
)

const (
	maxSuggestions = 3
	// of a name that is compared: the comparison costs the product of both lengths
	maxNameLength = 200
)

// DidYouMean proposes names in place of a name that the program does not have, or returns "".
func DidYouMean(written string, names []string, clean func(string) string) string {
	cleaned := make([]string, len(names))
	for i, n := range names {
		cleaned[i] = clean(n)
	}
	near := Suggest(written, cleaned)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

// ObjectType returns the name of the type that a pointer type points to in the end.
func ObjectType(name string) string { return strings.TrimLeft(CleanType(name), "*") }

// Suggest returns the names nearest to what the user wrote, the nearest first. Each name is
// compared in full, with a short import path, and with the package's name; the nearest form counts.
// Names that have little in common with it are left out.
func Suggest(written string, names []string) []string {
	written = strings.ToLower(symbol.FoldPath(symbol.Unescape(written)))
	limit := max(2, len(written)/3)
	var near []candidate
	for _, name := range names {
		if name == "" || len(name) > maxNameLength {
			continue
		}
		c := candidate{name: symbol.Unescape(name)}
		name := strings.ToLower(c.name)
		c.distance = min(textfmt.EditDistance(written, name, limit), textfmt.EditDistance(written, LastElements(name), limit))
		if short, ok := byPackageName(c.name); ok {
			c.distance = min(c.distance, textfmt.EditDistance(written, strings.ToLower(short), limit))
		}
		if strings.HasSuffix(name, "."+written) {
			c.distance = 0 // only the package is missing
		}
		if c.distance <= limit {
			near = append(near, c)
		}
	}
	sort.Slice(near, func(i, j int) bool {
		return cmp.Or(near[i].distance-near[j].distance, strings.Compare(near[i].name, near[j].name)) < 0
	})
	var best []string
	for _, c := range near {
		if len(best) < maxSuggestions && !slices.Contains(best, c.name) {
			best = append(best, c.name)
		}
	}
	return best
}

// A candidate is a name that may be what the user meant.
type candidate struct {
	name     string
	distance int
}
