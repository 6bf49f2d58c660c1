package golden

import (
	"slices"
	"strings"
)

// adopt gives measurements that no entry covers to entries that cover nothing, where path and type
// are the same in the words of another Go version or build (see kin). It returns those that are
// left. An entry with the same figures is preferred: a path may have several closures, whose names
// all change.
func adopt(entries []Entry, covered [][]Measurement, unlisted []Measurement) (left []Measurement) {
	free := make(map[place][]int) // entries that cover nothing, by path and wording
	for i := range entries {
		if e := &entries[i]; e.Type != anyType && len(covered[i]) == 0 {
			at := kin(e.Path, e.Type)
			free[at] = append(free[at], i)
		}
	}
	for _, m := range unlisted {
		at := kin(m.Path, m.Type)
		these := free[at]
		if len(these) == 0 {
			left = append(left, m)
			continue
		}
		k := max(0, slices.IndexFunc(these, func(i int) bool {
			bound := entries[i].Objects
			return bound.Holds(m.Objects) && !bound.Loose(m.Objects)
		}))
		covered[these[k]] = append(covered[these[k]], m)
		free[at] = slices.Delete(these, k, k+1)
	}
	for at := range regrouped(entries, covered, left) {
		left = shareOut(at, entries, covered, left)
	}
	return left
}

// regrouped returns the paths and wordings of closures and arrays of which there are more or fewer
// types than entries: a measurement is left, or an entry covers nothing and another one too much. A
// function literal in a function that is inlined several times is one function in the words of Go
// 1.27, and one for each call in those of Go 1.26; arrays are of one type in those of Go 1.27, and
// of one for each length in those of Go 1.26.
func regrouped(entries []Entry, covered [][]Measurement, left []Measurement) map[place]bool {
	found, over := make(map[place]bool), make(map[place]bool)
	for i := range entries {
		e := &entries[i]
		objects, bytes := sum(covered[i])
		if !e.Objects.Holds(objects) || !e.Bytes.Holds(bytes) {
			over[kin(e.Path, e.Type)] = true
		}
	}
	for i := range entries {
		if at := kin(entries[i].Path, entries[i].Type); over[at] && len(covered[i]) == 0 {
			found[at] = true
		}
	}
	for i := range left {
		if at := kin(left[i].Path, left[i].Type); at.typ == closure || strings.HasPrefix(at.typ, array) {
			found[at] = true
		}
	}
	return found
}

// shareOut shares out what all types of one path and wording have among the entries for them, if
// these allow as much in all, and returns the measurements that are left then. Otherwise it changes
// nothing.
func shareOut(at place, entries []Entry, covered [][]Measurement, left []Measurement) []Measurement {
	isOne := func(m Measurement) bool { return kin(m.Path, m.Type) == at }
	var all []Measurement
	for _, m := range left {
		if isOne(m) {
			all = append(all, m)
		}
	}
	var these []int
	for i := range entries {
		if e := &entries[i]; kin(e.Path, e.Type) == at {
			these, all = append(these, i), append(all, covered[i]...)
		}
	}
	objects, bytes := sum(all)
	shares := make([]Measurement, len(these))
	for k, i := range these {
		e, s := &entries[i], &shares[k]
		*s = Measurement{Path: e.Path, Type: e.Type, Objects: e.Objects.atMost(objects), Bytes: e.Bytes.atMost(bytes)}
		objects, bytes = objects-s.Objects, bytes-s.Bytes
	}
	if objects > 0 || bytes > 0 {
		return left
	}
	for k, i := range these {
		covered[i] = normalize(shares[k : k+1])
	}
	return slices.DeleteFunc(left, isOne)
}

// kin is what a place has in common with the same place in the words of other Go versions and
// builds. With -race, a deferred function is held by the record of the call, without it by a slot
// of the stack.
func kin(path, typ string) place {
	return place{strings.ReplaceAll(path, ".$defer", ".$tmp"), wording(typ)}
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
