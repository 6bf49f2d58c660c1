package heaptype

import (
	"encoding/binary"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// An array with many references to few objects is walked at the cost of few. References with names
// of their own are all told.
func TestElementsThatAreEqual(t *testing.T) {
	const n, few = 1000, 3
	elem := &Type{Size: 8, Refs: 1, Ops: []Op{{Kind: opPointer, Type: &Type{Size: 32}}}}
	var mem []byte
	for i := range uint64(n) {
		mem = binary.LittleEndian.AppendUint64(mem, 64*(1+i%few))
	}
	var told []Edge
	w := Walker{Types: &Table{}, Emit: func(e Edge) { told = append(told, e) }}
	w.Elements(elem, mem, 0)
	require.Greater(t, len(told), maxElems)
	others := make(map[uint64]bool)
	for i, e := range told {
		assert.Equal(t, uint32(min(i, maxElems)), e.Ref)
		if i < maxElems {
			assert.Equal(t, 64*(1+uint64(i)%few), e.To)
		} else {
			others[e.To] = true
		}
	}
	assert.Equal(t, map[uint64]bool{64: true, 128: true, 192: true}, others)
	assert.Less(t, len(told), n/2)
}
