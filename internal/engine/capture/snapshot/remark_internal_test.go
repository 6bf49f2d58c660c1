package snapshot

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
)

// Between the two freezes a span may be freed, and other objects may take its memory.
func TestSecondLookAtReusedSpan(t *testing.T) {
	later := secondGCMarks{0x10000: {elemSize: 24, objects: 20, bits: []byte{0xff, 0x01, 0x08}}}
	span := func(elemSize uint64, objects uint32) *goruntime.Span {
		return &goruntime.Span{Base: 0x10000, ElemSize: elemSize, NElems: objects}
	}
	assert.True(t, later.alive(span(24, 20), 19))
	assert.False(t, later.alive(span(24, 20), 18))
	assert.False(t, later.alive(span(24, 341), 340), "without pointers, so there were more of them")
	assert.False(t, later.alive(span(48, 20), 3))
	assert.False(t, later.alive(&goruntime.Span{Base: 0x20000, ElemSize: 24, NElems: 20}, 3))
}
