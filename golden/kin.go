package golden

import (
	"slices"
	"strings"
)

// adopt gives measurements that no entry covers to entries of the same path that cover nothing,
// where the type is the same in the words of another Go version or build (see wording). It returns
// those that are left. An entry with the same figures is preferred: a path may have several
// closures, whose names all change.
func adopt(entries []Entry, covered [][]Measurement, unlisted []Measurement) (left []Measurement) {
	if len(unlisted) == 0 {
		return nil
	}
	free := make(map[place][]int) // entries that cover nothing, by path and wording
	for i := range entries {
		if e := &entries[i]; e.Type != anyType && len(covered[i]) == 0 {
			at := place{e.Path, wording(e.Type)}
			free[at] = append(free[at], i)
		}
	}
	for _, m := range unlisted {
		at := place{m.Path, wording(m.Type)}
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
	return left
}

// wording is what two names of one type have in common. The name of a closure has the functions
// that it was inlined into, which Go versions and -race choose differently. The array of a slice is
// known as an array of its length only where the allocator has recorded the type (Go 1.26: from
// 512 bytes on).
func wording(typ string) string {
	if strings.HasPrefix(typ, "func ") {
		return "func"
	}
	if n, elem, ok := strings.Cut(typ, "]"); ok && strings.Trim(n, "0123456789") == "*[" {
		return "[]" + elem
	}
	return typ
}
