package typing

import (
	"math/bits"

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
	t := w.Types.At(ty.Type)
	mem, addr := heaptype.Payload(s, obj)
	if mem == nil {
		if ty.Layout == heaptype.LayoutMap || ty.Layout == heaptype.LayoutChan {
			w.Object(t, ty.Layout, nil, addr)
		}
		return
	}
	mem = mem[ty.Offset:]
	if ty.Layout == heaptype.LayoutArray && t.Size > 0 && s.HasSmallMask() {
		// The array may be shorter than its block. Behind it the allocator may leave what an
		// earlier object has put there (go1.26 and go1.27 runtime/malloc.go,
		// mallocgcSmallScanNoHeader).
		end := uint64(64-bits.LeadingZeros64(s.SmallMask(obj))) * 8
		end -= min(end, uint64(ty.Offset))
		mem = mem[:min(uint64(len(mem)), (end+t.Size-1)/t.Size*t.Size)]
	}
	w.Object(t, ty.Layout, mem, addr)
}
