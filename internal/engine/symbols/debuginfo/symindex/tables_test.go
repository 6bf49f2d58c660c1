package symindex

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// The tables used to build an index behave like the maps and sorts of the standard library.

func TestStringTableIsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	table, places := newStringTable(100, 100), make(map[string]uint32)
	places[""] = 0
	for i := range 20_000 {
		s := fmt.Sprint("string ", r.IntN(9000))
		if i%100 == 0 {
			s = ""
		}
		place := table.place(s, hash(s)&0xff) // a hash with many collisions
		want, known := places[s]
		if !known {
			want = place
			places[s] = place
		}
		require.Equal(t, want, place, s)
	}
	for s, place := range places {
		c := numbers{b: table.bytes[place:]}
		n := c.uleb()
		require.Equal(t, s, string(c.b[:n]))
	}
}

func TestHash(t *testing.T) {
	for _, s := range []string{"", "a", "map[string]*example.com/app.Session"} {
		assert.Equal(t, crc32.Checksum([]byte(s), crc32.MakeTable(crc32.Castagnoli)), hash(s))
	}
}

func TestSortedByKey(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, 2, 100, 70_000} {
		records := make([]ordered, n)
		for i := range records {
			records[i] = ordered{key: r.Uint32() >> r.IntN(32), id: uint32(i)}
		}
		want := append([]ordered(nil), records...)
		sort.SliceStable(want, func(i, j int) bool { return want[i].key < want[j].key })
		require.Equal(t, len(want), n)
		for i, got := range sortedByKey(records) {
			require.Equal(t, want[i], got)
		}
	}
}
