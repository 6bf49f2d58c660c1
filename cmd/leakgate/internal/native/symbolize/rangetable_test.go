package symbolize

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	table := newRangeTable([]rangeEntry[string]{{10, 20, "a"}, {15, 16, "inner"}, {18, 30, "later"}, {40, 40, "empty"}, {50, 40, "turned round"}, {30, 31, "next"}})
	for addr, want := range map[uint64]string{9: "", 10: "a", 14: "a", 15: "inner", 16: "a", 18: "later", 29: "later", 30: "next", 31: "", 40: "", 45: ""} {
		got, ok := table.At(addr)
		require.Equal(t, want, got, addr)
		require.Equal(t, want != "", ok, addr)
	}
	_, ok := newRangeTable[int](nil).At(0)
	require.False(t, ok)
	last, ok := newRangeTable([]rangeEntry[int]{{0, ^uint64(0), 1}}).At(^uint64(0) - 1)
	require.True(t, ok)
	require.Equal(t, 1, last)
}

// TestRandomTables compares At with a linear search from the end of the list.
func TestRandomTables(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		entries := make([]rangeEntry[int], r.IntN(30))
		for i := range entries {
			lo := r.Uint64N(60)
			entries[i] = rangeEntry[int]{lo, lo + r.Uint64N(20), i}
		}
		table := newRangeTable(append([]rangeEntry[int](nil), entries...))
		for addr := range uint64(90) {
			want, found := 0, false
			for i := len(entries) - 1; i >= 0 && !found; i-- {
				if entries[i].Lo <= addr && addr < entries[i].Hi {
					want, found = i, true
				}
			}
			got, ok := table.At(addr)
			require.Equal(t, found, ok, "%d in %v", addr, entries)
			require.Equal(t, want, got, "%d in %v", addr, entries)
		}
	}
}
