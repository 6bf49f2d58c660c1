package symbolize

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"
)

// A rangeEntry covers the addresses from Lo up to, but not including, Hi.
type rangeEntry[T any] struct {
	Lo, Hi uint64
	Value  T
}

// A rangeTable finds entries. It is safe for concurrent use.
type rangeTable[T any] struct {
	entries []rangeEntry[T]
	pieces  []rangePiece // by address; they do not overlap
}

// A rangePiece is a part of an entry that no later entry covers.
type rangePiece struct {
	lo, hi uint64
	entry  int
}

// newRangeTable makes a table, in n log n steps. Where entries overlap, the later one in the list
// covers the addresses. Empty entries are left out. The table keeps the list: the caller must not
// change it.
func newRangeTable[T any](entries []rangeEntry[T]) *rangeTable[T] {
	t := &rangeTable[T]{entries: entries}
	var order []int // entries by their begin
	var bounds []uint64
	for i, e := range entries {
		if e.Lo < e.Hi {
			order = append(order, i)
			bounds = append(bounds, e.Lo, e.Hi)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(entries[a].Lo, entries[b].Lo) })
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	var open latestFirst
	for i, at := range bounds {
		for len(order) > 0 && entries[order[0]].Lo <= at {
			heap.Push(&open, order[0])
			order = order[1:]
		}
		for len(open) > 0 && entries[open[0]].Hi <= at {
			heap.Pop(&open)
		}
		if len(open) > 0 { // so there is a bound after this one
			t.add(rangePiece{at, bounds[i+1], open[0]})
		}
	}
	return t
}

// add appends a piece, or lengthens the last one by it.
func (t *rangeTable[T]) add(p rangePiece) {
	if n := len(t.pieces); n > 0 && t.pieces[n-1].entry == p.entry && t.pieces[n-1].hi == p.lo {
		t.pieces[n-1].hi = p.hi
		return
	}
	t.pieces = append(t.pieces, p)
}

// At returns the value of the entry that covers an address, and whether there is one.
func (t *rangeTable[T]) At(addr uint64) (value T, ok bool) {
	i := sort.Search(len(t.pieces), func(i int) bool { return t.pieces[i].hi > addr })
	if i == len(t.pieces) || t.pieces[i].lo > addr {
		return value, false
	}
	return t.entries[t.pieces[i].entry].Value, true
}

// latestFirst is a heap of entries' indices, the largest on top.
type latestFirst []int

func (h latestFirst) Len() int           { return len(h) }
func (h latestFirst) Less(i, j int) bool { return h[i] > h[j] }
func (h latestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *latestFirst) Push(x any) { *h = append(*h, x.(int)) }

// Pop implements heap.Interface.
func (h *latestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
