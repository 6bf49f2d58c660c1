package attribute

import (
	"github.com/leakgate/leakgate/internal/engine/heaptype"
)

// uncertain counts the objects whose type is not certain, by shape: objects that the scan reached,
// and objects that the collector marked and the scan missed. Without debug information, small
// objects that only variables and closures lead to have no certain type: the allocator records the
// types of larger objects only.
func (a *attributor) uncertain() map[Shape]int64 {
	h := a.heap
	shapes := make(map[Shape]int64)
	for i := range h.Model.Spans {
		s := &h.Model.Spans[i]
		for k := range s.NElems {
			obj := s.FirstObj + k
			reached := h.Live.Marked.Has(obj)
			if a.tool.Has(obj) || !reached && !s.Marked(k) {
				continue
			}
			shape := Shape{Size: s.ElemSize}
			if s.HasSmallMask() {
				shape.Mask = s.SmallMask(obj)
			} else if !s.NoScan {
				shape.Mask = ^uint64(0)
			}
			if ty := h.Typings.Of(obj); reached && (ty.Type != 0 || ty.Layout == heaptype.LayoutInternal) {
				if ty.Confidence > heaptype.FromStatic {
					continue
				}
				if ty.Full && ty.Offset == 0 && ty.Confidence == heaptype.FromStatic {
					shape.Type = h.Types.Names.Type(h.Types.At(ty.Type).Origin).RuntimeAddr
				}
			}
			shapes[shape]++
		}
	}
	return shapes
}
