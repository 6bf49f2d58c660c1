package typing

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Variables that are not listed lead to no object and to no data segment, also by their types. They
// are half of the variables in a small program, most in a test. All others are listed.
func TestIdleVariables(t *testing.T) {
	p := imagetest.Record(t)
	m, err := p.Load(p)
	require.NoError(t, err)
	types, err := heaptype.NewTable(m, p.Index, false)
	require.NoError(t, err)
	g := LoadSegments(types)
	listed, last := make(map[uint64]bool), uint64(0)
	for i := range g.Statics {
		s := &g.Statics[i]
		require.GreaterOrEqual(t, s.Addr, last)
		last, listed[s.Addr] = s.Addr, true
		require.True(t, g.anyLeadsOn(s), "%s", s.Name)
	}
	idle, all := 0, 0
	for _, gl := range p.Index.Globals() {
		s := Static{Global: &gl, Addr: gl.Addr + m.Bias()}
		for _, seg := range segments(m) {
			if seg.start <= s.Addr && s.Addr < seg.end {
				s.segment = &seg
			}
		}
		if s.segment == nil || gl.Size <= 0 {
			continue
		}
		s.Mem = m.Mem.Bytes(s.Addr, uint64(gl.Size))
		require.NotNil(t, s.Mem)
		if all++; listed[s.Addr] {
			continue
		}
		idle++
		none := func(to uint64) {
			object, _ := m.Object(to)
			require.Nil(t, object, "%s leads to an object", s.Name)
			for _, seg := range segments(m) {
				require.False(t, seg.start <= to && to < seg.end, "%s leads to a data segment", s.Name)
			}
		}
		if typ := g.staticType(&gl); typ != nil {
			w := heaptype.Walker{Types: types, Emit: func(e heaptype.Edge) { none(e.To) }}
			w.Value(typ, s.Mem, 0)
		}
		for off := uint64(0); off+8 <= uint64(len(s.Mem)); off += 8 {
			if goruntime.MaskBit(s.segment.mask, (s.Addr+off-s.segment.start)/8) {
				none(heaptype.Word(s.Mem, off))
			}
		}
	}
	t.Logf("%d of %d variables lead nowhere", idle, all)
	require.Greater(t, idle, all/3)
}
