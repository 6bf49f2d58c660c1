package dataseg

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/heaptype"
	"github.com/leakgate/leakgate/internal/engine/imagetest"
	"github.com/leakgate/leakgate/internal/require"
)

// Variables that lead nowhere lead to no object and to no variable, by their types neither: half of
// the variables in a small program, most in a test.
func TestIdleVariables(t *testing.T) {
	p := imagetest.Record(t)
	m, err := p.Load(p)
	require.NoError(t, err)
	types, err := heaptype.NewTable(m, p.Index)
	require.NoError(t, err)
	g := Load(types)
	idle := 0
	for i := range g.Statics {
		s := &g.Statics[i]
		if !s.Idle {
			continue
		}
		idle++
		require.Nil(t, s.HeapType)
		none := func(to uint64) {
			object, _ := m.Object(to)
			require.Nil(t, object, "%s leads to an object", s.Name)
			require.Negative(t, g.At(to), "%s leads to a variable", s.Name)
		}
		if typ := g.staticType(&s.Global); typ != nil {
			w := heaptype.Walker{Types: types, Emit: func(e heaptype.Edge) { none(e.To) }}
			w.Value(typ, s.Mem, 0)
		}
		for off := uint64(0); off+8 <= uint64(len(s.Mem)); off += 8 {
			if goruntime.MaskBit(s.Mask, (s.Addr+off-s.MaskBase)/8) {
				none(heaptype.Word(s.Mem, off))
			}
		}
	}
	t.Logf("%d of %d variables lead nowhere", idle, len(g.Statics))
	require.Greater(t, idle, len(g.Statics)/3)
}
