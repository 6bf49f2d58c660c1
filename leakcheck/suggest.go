package leakcheck

import (
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

const (
	maxSuggestions = 3
	maxNameLength  = 200 // of a name that is compared: the comparison costs the product of both lengths
)

// suggest returns the names nearest to what the user wrote, the nearest first. Names count in full and
// with a short import path, whichever is nearer; those that have little in common with it are left out.
func suggest(written string, names []string) []string {
	written = lower(refscan.FoldName(unescapePath(written)))
	limit := max(2, len(written)/3)
	var near []candidate // the nearest, in order
	for _, name := range names {
		if len(name) > maxNameLength {
			continue
		}
		c := candidate{name: unescapePath(name)}
		name := lower(c.name)
		c.distance = min(editDistance(written, name, limit), editDistance(written, shortName(name), limit))
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

// inPackageMain returns what a name that begins with "main." is called in a test of the package under test, "" if there
// is no such thing. Only in a program does the compiler call a package main by that name (go1.26 cmd/go/internal/work/gc.go).
func inPackageMain(written string, names []string) string {
	rest, ok := strings.CutPrefix(written, "main.")
	if !ok {
		return ""
	}
	pkg, _ := buildPaths()
	for _, name := range names {
		if after, ok := strings.CutPrefix(name, pkg+"."); ok && strings.HasPrefix(rest, after) && !continues(rest[len(after):]) {
			return name
		}
	}
	return ""
}

// continues reports whether what follows a name belongs to it.
func continues(rest string) bool {
	return rest != "" && rest[0] != '.' && rest[0] != '[' && rest[0] != '('
}

// lower puts ASCII letters in lower case. strings.ToLower does so with all letters, and adds 5 kB to a stripped program (go1.26.8).
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

// insert puts a candidate in its place among the nearest, unless it is there already or too far off.
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

// editDistance returns how many characters must be put in, left out or replaced to get from a to b, or
// limit+1 if more than limit.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal, least := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
			least = min(least, cost)
		}
		if least > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
