package heaptype

import (
	"math/bits"
	"reflect"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Leads calls visit with the types of the objects that values of a type refer to, and their layout,
// where the type alone tells.
func (tt *Table) Leads(t *Type, visit func(Layout, *Type)) {
	for i := range t.Ops {
		o := &t.Ops[i]
		layout := LayoutNone
		switch o.Kind {
		case OpArray:
			tt.Leads(o.Type, visit)
		case opPointer:
			layout = LayoutValue
		case opSlice, opCounted:
			layout = LayoutArray
		case opMap:
			layout = LayoutMap
		}
		if layout != LayoutNone {
			if to := tt.target(o); to != nil {
				visit(layout, to)
			}
		}
	}
	if t.Kind == reflect.Map { // of the entries
		for _, id := range [...]debuginfo.TypeID{t.key, t.Elem} {
			if part := tt.ByID(id); part != nil {
				tt.Leads(part, visit)
			}
		}
	}
}

// FitsObject reports whether an object of that size and pointer mask may be a value of a type in a
// layout that Leads knows, and nothing more.
func (tt *Table) FitsObject(t *Type, f Layout, size, mask uint64) bool {
	switch f {
	case LayoutValue:
		return t.Words != nil && sizeClass(t.Size) == size && t.Mask == mask
	case LayoutArray:
		if t.Words == nil || t.Size == 0 || t.Size%8 != 0 || t.Size > size {
			return false
		}
		want := uint64(0)
		for k := uint64(0); k < size/t.Size; k++ {
			want |= t.Mask << (k * t.Size / 8) // what is beyond 64 words falls off
		}
		// The array may be shorter than its size class.
		return mask&^want == 0 && want&^mask&(1<<bits.Len64(mask)-1) == 0
	case LayoutMap:
		header := tt.Named("internal/runtime/maps.Map")
		return header != nil && sizeClass(header.Size) == size && header.Mask == mask
	}
	return false
}
