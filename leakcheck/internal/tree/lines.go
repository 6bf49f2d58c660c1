package tree

import (
	"sort"

	"github.com/leakgate/leakgate/golden"
)

// MergeLines sums up lines with the same path and type, and sorts them.
func MergeLines(lines []golden.Measurement) []golden.Measurement {
	type key struct{ path, typ string }
	index := make(map[key]int)
	var out []golden.Measurement
	for _, m := range lines {
		k := key{m.Path, m.Type}
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k] = i
			out = append(out, golden.Measurement{Path: m.Path, Type: m.Type, BytesTolerance: m.BytesTolerance})
		}
		out[i].Objects += m.Objects
		out[i].Bytes += m.Bytes
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Path != out[j].Path {
			return out[i].Path < out[j].Path
		}
		return out[i].Type < out[j].Type
	})
	return out
}

// LinesBeyond returns the lines with the figures of before subtracted, without those that have
// nothing left.
func LinesBeyond(now, before []golden.Measurement) []golden.Measurement {
	var out []golden.Measurement
	for _, m := range now {
		for _, b := range before {
			if b.Path == m.Path && b.Type == m.Type {
				m.Objects, m.Bytes = max(0, m.Objects-b.Objects), max(0, m.Bytes-b.Bytes)
			}
		}
		if m.Objects > 0 || m.Bytes > 0 {
			out = append(out, m)
		}
	}
	return out
}

// Tolerances in percent, by how a kind of memory grows.
const (
	Exact   = 0
	OneStep = 100 // tables and backing arrays grow by doubling: one step more or less
)
