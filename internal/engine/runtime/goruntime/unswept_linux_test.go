package goruntime_test

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestInlineMarks resets spans without pointers to their state before they were swept. Their live
// objects then have mark bits only at the end of the span, where the green tea collector puts them.
func TestInlineMarks(t *testing.T) {
	b := imagetest.NewBench(t)
	_, ok := b.Index.TypeByName("runtime.spanInlineMarkBits")
	require.True(t, ok, "the collector is green tea")
	var (
		field  = func(name string) uint64 { return b.Offset("runtime.mspan", name) }
		gen    = field("sweepgen")
		class  = field("spanclass")
		sweep  = uint32(b.U64(b.Variable("runtime.mheap_") + b.Offset("runtime.mheap", "sweepgen")))
		marked = 0
	)
	turned := b.Spans(func(span uint64) bool {
		size := b.U64(span + field("elemsize"))
		return b.U64(span+class)&1 != 0 && 16 <= size && size <= 512 && uint32(b.U64(span+gen)) == sweep
	})
	for _, span := range turned {
		n := b.U64(span+field("nelems")) & 0xffff
		base, pages := b.U64(span+field("startAddr")), b.U64(span+field("npages"))
		bits, free := b.U64(span+field("allocBits")), b.U64(span+field("freeindex"))&0xffff
		marks := make([]byte, (n+7)/8)
		for i := range n {
			if i < free || b.U64(bits+i/64*8)>>(i%64)&1 != 0 {
				marks[i/8] |= 1 << (i % 8)
				marked++
			}
		}
		b.PutU32(span+gen, sweep-2)
		b.Put(span+field("freeindex"), []byte{0, 0})
		b.Put(b.U64(span+field("gcmarkBits")), make([]byte, len(marks)))
		b.Put(base+pages<<13-64, marks)
	}
	require.Positive(t, marked)
	m, err := b.Load(b.Program)
	require.NoError(t, err)
	require.Equal(t, len(turned), m.Unswept-b.Model.Unswept)
	require.Equal(t, inUse(b.Model), inUse(m))

	later, err := goruntime.LoadMarks(image.NewSpace(b), b.Index, 0, runtime.GOARCH)
	require.NoError(t, err)
	alive := 0
	for i := range later.Spans {
		for k := range later.Spans[i].NElems {
			if later.Spans[i].NoScan && later.Spans[i].Marks()[k/8]>>(k%8)&1 != 0 {
				alive++
			}
		}
	}
	require.GreaterOrEqual(t, alive, marked, "a model of nothing but marks has them, too")
}

// inUse counts the slots that hold objects.
func inUse(m *goruntime.Model) (n int) {
	for i := range m.Spans {
		s := &m.Spans[i]
		for k := range s.NElems {
			if s.Allocated(k) {
				n++
			}
		}
	}
	return n
}
