package debuginfo

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tables that building an index needs do what those of the standard library do.

func TestStringTableIsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	table, places := newStringTable(100, 100), make(map[string]uint32)
	places[""] = 0
	for i := range 20_000 {
		s := fmt.Sprint("string ", r.IntN(9000))
		if i%100 == 0 {
			s = ""
		}
		place := table.place(s, hash(s)&0xff) // one with many collisions
		want, known := places[s]
		if !known {
			want = place
			places[s] = place
		}
		require.Equal(t, want, place, s)
	}
	for s, place := range places {
		c := cursor{b: table.bytes[place:]}
		require.Equal(t, s, string(c.take(int(c.uleb()))))
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

func TestTypePlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var places typePlaces
	places.complete()
	assert.Zero(t, places.find(0))
	assert.Zero(t, places.find(12))

	ids, aliases := make(map[dieOffset]TypeID), make(map[dieOffset]dieOffset)
	var offs []dieOffset
	const n = 3000
	places.reserve(n)
	off := dieOffset(0)
	for range n {
		off += 1 + dieOffset(r.IntN(30))
		if r.IntN(50) == 0 {
			off += 5 << pageBits // pages that nothing is in
		}
		alias := dieOffset(0)
		switch {
		case len(offs) > 0 && r.IntN(3) == 0:
			alias = offs[r.IntN(len(offs))]
		case r.IntN(100) == 0:
			alias = off // a cycle
		}
		if alias == 0 {
			ids[off] = TypeID(len(ids) + 1)
		} else {
			aliases[off] = alias
		}
		offs = append(offs, off)
		places.add(off, alias)
	}
	places.complete()
	for at := range off + 3<<pageBits {
		end := at
		for range 16 {
			if aliases[end] != 0 {
				end = aliases[end]
			}
		}
		require.Equal(t, ids[end], places.find(at), at)
	}
	assert.Zero(t, places.find(^dieOffset(0)))
}
