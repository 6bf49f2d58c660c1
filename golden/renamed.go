package golden

import (
	"slices"
	"strings"
)

// matchRenamed gives measurements that no entry covers to entries that cover nothing, where path
// and type are the same in the words of another Go version or build (see acrossBuilds). It returns
// those that are left. An entry with the same figures is preferred: a path may have several
// closures, whose names all change.
func matchRenamed(entries []Entry, covered [][]Measurement, unlisted []Measurement) (left []Measurement) {
	free := make(map[place][]int) // entries that cover nothing, by path and wording
	for i := range entries {
		if e := &entries[i]; e.Type != anyType && len(covered[i]) == 0 {
			at := acrossBuilds(e.Path, e.Type)
			free[at] = append(free[at], i)
		}
	}
	for _, m := range unlisted {
		at := acrossBuilds(m.Path, m.Type)
		these := free[at]
		if len(these) == 0 {
			left = append(left, m)
			free[at] = nil // none is free, but it is a place to look at below
			continue
		}
		k := max(0, slices.IndexFunc(these, func(i int) bool {
			bound := entries[i].Objects
			return bound.Holds(m.Objects) && !bound.Loose(m.Objects)
		}))
		covered[these[k]] = append(covered[these[k]], m)
		free[at] = slices.Delete(these, k, k+1)
	}
	for at := range free {
		if at.typ == closure || strings.HasPrefix(at.typ, array) {
			left = redistribute(at, entries, covered, left)
		}
	}
	return left
}

// redistribute shares out what all closures, or all arrays of one type, of a path have among the
// entries for them, where some are left or too many for their entry and the entries allow as much
// in all. It returns the measurements that are left then. There may be more or fewer types than
// entries: a function literal in a function that is inlined several times is one function in the
// words of Go 1.27, and one for each call in those of Go 1.26; arrays are of one type in those of
// Go 1.27, and of one for each length in those of Go 1.26.
func redistribute(at place, entries []Entry, covered [][]Measurement, left []Measurement) []Measurement {
	var objects, bytes int64
	var others []Measurement
	var these []int
	for i := range left {
		if m := &left[i]; acrossBuilds(m.Path, m.Type) == at {
			objects, bytes = addSaturating(objects, m.Objects), addSaturating(bytes, m.Bytes)
		} else {
			others = append(others, *m)
		}
	}
	fits := len(others) == len(left)
	for i := range entries {
		if e := &entries[i]; acrossBuilds(e.Path, e.Type) == at {
			o, b := sum(covered[i])
			fits = fits && e.Objects.Holds(o) && e.Bytes.Holds(b)
			objects, bytes = addSaturating(objects, o), addSaturating(bytes, b)
			these = append(these, i)
		}
	}
	if fits {
		return left
	}
	shares := make([]Measurement, len(these))
	for k, i := range these {
		e, s := &entries[i], &shares[k]
		s.Path, s.Type, s.Objects, s.Bytes = e.Path, e.Type, e.Objects.clamp(objects), e.Bytes.clamp(bytes)
		objects, bytes = objects-s.Objects, bytes-s.Bytes
	}
	if objects > 0 || bytes > 0 {
		return left
	}
	for k, i := range these {
		covered[i] = normalize(shares[k : k+1])
	}
	return others
}

// acrossBuilds is what a place has in common with the same place in the words of other Go versions
// and builds. With -race, a deferred function is held by the record of the call, without it by a
// slot of the stack.
func acrossBuilds(path, typ string) place {
	return place{strings.ReplaceAll(path, ".$defer", ".$temporary"), wording(typ)}
}

// closure is the wording of all closures; those of arrays begin with array.
const closure, array = "func", "[]"

// wording is what two names of one type have in common. The name of a closure has the functions
// that it was inlined into, which Go versions and -race choose differently. The array of a slice is
// known as an array of its length only where the allocator has recorded the type (Go 1.26: from
// 512 bytes on).
func wording(typ string) string {
	if strings.HasPrefix(typ, "func ") {
		return closure
	}
	if n, elem, ok := strings.Cut(typ, "]"); ok && strings.Trim(n, "0123456789") == "*[" {
		return array + elem
	}
	return typ
}
