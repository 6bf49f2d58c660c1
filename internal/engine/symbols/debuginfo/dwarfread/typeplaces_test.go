package dwarfread

import (
	"math/rand/v2"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

func TestTypePlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var places typePlaces
	places.complete()
	assert.Zero(t, places.find(0))
	assert.Zero(t, places.find(12))

	ids, aliases := make(map[dieOffset]symindex.TypeID), make(map[dieOffset]dieOffset)
	var offs []dieOffset
	const n = 3000
	places.reserve(n)
	off := dieOffset(0)
	for range n {
		off += 1 + dieOffset(r.IntN(30))
		if r.IntN(50) == 0 {
			off += 5 << pageBits // skip some pages
		}
		alias := dieOffset(0)
		switch {
		case len(offs) > 0 && r.IntN(3) == 0:
			alias = offs[r.IntN(len(offs))]
		case r.IntN(100) == 0:
			alias = off // a cycle
		}
		if alias == 0 {
			ids[off] = symindex.TypeID(len(ids) + 1)
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
