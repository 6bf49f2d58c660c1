package golden

import (
	"sort"
	"strings"
)

// wildcard stands for any text in an entry's path.
const wildcard = "**"

// below, at the end of an entry's path, stands for the path before it and everything below that.
const below = "." + wildcard

// assign gives every measurement to the entry that it counts towards: covered[i] belongs to
// entries[i], and unlisted is what no entry covers. Both keep the order of ms. The result depends
// on the entries' paths and types, and on figures only where adopt has a choice. The time is
// proportional to the measurements times the entries with a pattern.
func assign(entries []Entry, ms []Measurement) (covered [][]Measurement, unlisted []Measurement) {
	literal := make(map[place]int, len(entries))
	var patterns []int
	for i := range entries {
		e := &entries[i]
		literal[e.place()] = i
		if strings.Contains(e.Path, wildcard) {
			patterns = append(patterns, i)
		}
	}
	sort.SliceStable(patterns, func(i, j int) bool { return compareSpecific(&entries[patterns[i]], &entries[patterns[j]]) < 0 })

	covered = make([][]Measurement, len(entries))
	for _, m := range ms {
		i, ok := literal[m.place()]
		if !ok {
			i, ok = literal[place{m.Path, anyType}]
		}
		for _, p := range patterns {
			if ok {
				break
			}
			if e := &entries[p]; (e.Type == anyType || e.Type == m.Type) && matchPath(e.Path, m.Path) {
				i, ok = p, true
			}
		}
		if !ok {
			unlisted = append(unlisted, m)
			continue
		}
		covered[i] = append(covered[i], m)
	}
	return covered, matchRenamed(entries, covered, unlisted)
}

// compareSpecific orders patterns, the most specific first: more literal text in the path, then a
// type written out.
func compareSpecific(a, b *Entry) int {
	if d := literalLen(b.Path) - literalLen(a.Path); d != 0 {
		return d
	}
	switch {
	case a.Type == b.Type, a.Type != anyType && b.Type != anyType:
		return 0
	case a.Type == anyType:
		return 1
	}
	return -1
}

func literalLen(pattern string) int {
	return len(pattern) - len(wildcard)*strings.Count(pattern, wildcard)
}

// matchPath reports whether a pattern covers a path.
func matchPath(pattern, path string) bool {
	base, subtree := strings.CutSuffix(pattern, below)
	if !subtree {
		return matchText(pattern, path)
	}
	if matchText(base, path) {
		return true
	}
	if !strings.Contains(base, wildcard) {
		return len(path) > len(base) && path[:len(base)] == base && isStep(path[len(base)])
	}
	for i := range len(path) {
		if isStep(path[i]) && matchText(base, path[:i]) {
			return true
		}
	}
	return false
}

// isStep reports whether c begins the next step of a path.
func isStep(c byte) bool { return c == '.' || c == '[' }

// matchText matches a whole text, in time proportional to the product of the lengths at worst. The
// leftmost match of each piece suffices, since it leaves the most text for the pieces after it.
func matchText(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, wildcard)
	if !more {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for {
		piece, after, more := strings.Cut(rest, wildcard)
		if !more {
			return strings.HasSuffix(text, piece)
		}
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(piece):], after
	}
}
