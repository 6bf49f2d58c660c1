package naming

import (
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
	written = lower(symbol.FoldPath(symbol.Unescape(written)))
	limit := max(2, len(written)/3)
	var near []candidate // the nearest, in order
	for _, name := range names {
		if name == "" || len(name) > maxNameLength {
			continue
		}
		c := candidate{name: symbol.Unescape(name)}
		name := lower(c.name)
		c.distance = min(textfmt.EditDistance(written, name, limit), textfmt.EditDistance(written, LastElements(name), limit))
		if short, ok := byPackageName(c.name); ok {
			c.distance = min(c.distance, textfmt.EditDistance(written, lower(short), limit))
		}
		if strings.HasSuffix(name, "."+written) {
			c.distance = 0 // only the package is missing
		}
		if c.distance <= limit {
			near = c.insert(near)
		}
	}
	best := make([]string, len(near))
	for i, c := range near {
		best[i] = c.name
	}
	return best
}

// lower puts ASCII letters in lower case. strings.ToLower does so with all letters, and adds 5 kB
// to a stripped program (go1.26.8).
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// A candidate is a name that may be what the user meant.
type candidate struct {
	name     string
	distance int
}

// insert puts a candidate in its place among the nearest, unless it is there already or too far
// off.
func (c candidate) insert(near []candidate) []candidate {
	at := 0
	for ; at < len(near); at++ {
		if near[at].name == c.name {
			return near
		}
		if c.distance < near[at].distance || c.distance == near[at].distance && c.name < near[at].name {
			break
		}
	}
	near = append(near, c)
	copy(near[at+1:], near[at:])
	near[at] = c
	return near[:min(len(near), maxSuggestions)]
}
