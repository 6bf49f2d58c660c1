package typing

import "github.com/leakgate/leakgate/internal/engine/heap/heaptype"

// WalkObject walks a typed object.
//
//go:norace
func WalkObject(w *heaptype.Walker, all Table, obj uint32) {
	ty := all.Of(obj)
	if ty.Type == 0 {
		return
	}
	s := w.Types.Model.SpanOf(obj)
	mem, addr := heaptype.Payload(s, obj)
	if mem == nil {
		if ty.Layout == heaptype.LayoutMap || ty.Layout == heaptype.LayoutChan {
			w.Object(w.Types.At(ty.Type), ty.Layout, nil, addr)
		}
		return
	}
	w.Object(w.Types.At(ty.Type), ty.Layout, mem[ty.Offset:], addr)
}
