package typing

import (
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// WalkObject walks a typed object.
//
//go:norace
func WalkObject(w *heaptype.Walker, ty Typing, s *goruntime.Span, obj uint32) {
	if ty.Type == 0 {
		return
	}
	mem, addr := heaptype.Payload(s, obj)
	if mem == nil {
		if ty.Layout == heaptype.LayoutMap || ty.Layout == heaptype.LayoutChan {
			w.Object(w.Types.At(ty.Type), ty.Layout, nil, addr)
		}
		return
	}
	w.Object(w.Types.At(ty.Type), ty.Layout, mem[ty.Offset:], addr)
}
