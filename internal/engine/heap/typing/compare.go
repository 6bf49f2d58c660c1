package typing

import "github.com/leakgate/leakgate/internal/engine/heap/heaptype"

// Improves reports whether a typing should replace another one. The layout of parts of maps and
// channels is better than any other.
//
//go:norace
func Improves(tt *heaptype.Table, ty, old Typing, objSize uint64) bool {
	switch {
	case old.Layout == heaptype.LayoutInternal:
		return false
	case ty.Layout == heaptype.LayoutInternal:
		return true
	case ty.Type == 0 || ty == old:
		return false
	}
	return Better(tt, ty, old, objSize)
}

// Better reports whether a should replace b, which types the same object. It is a strict order that
// does not depend on which was found first.
//
//go:norace
func Better(tt *heaptype.Table, a, b Typing, objSize uint64) bool {
	if b.Type == 0 {
		return true
	}
	if (a.Confidence == heaptype.FromOwner) != (b.Confidence == heaptype.FromOwner) {
		return a.Confidence == heaptype.FromOwner
	}
	ta, tb := tt.At(a.Type), tt.At(b.Type)
	if ta.Shaped != tb.Shaped {
		return tb.Shaped
	}
	if a.Full != b.Full {
		return a.Full
	}
	if a.Confidence != b.Confidence {
		return a.Confidence > b.Confidence
	}
	if ca, cb := coverage(ta, a, objSize), coverage(tb, b, objSize); ca != cb {
		return ca > cb
	}
	if a.Offset != b.Offset {
		return a.Offset < b.Offset
	}
	if ta != tb {
		if na, nb := len(ta.Ops), len(tb.Ops); na != nb {
			return na > nb
		}
		if ta.Size != tb.Size { // an array of large elements says more than one of their parts
			return ta.Size > tb.Size
		}
		if ta.Name != tb.Name {
			return ta.Name < tb.Name
		}
		if a.Layout == b.Layout {
			return ta.Before(tb)
		}
	}
	return a.Layout > b.Layout
}

// coverage is how many bytes of the object the typing, which is of type t, explains.
func coverage(t *heaptype.Type, a Typing, objSize uint64) uint64 {
	if a.Layout == heaptype.LayoutArray && t.Size > 0 {
		return (objSize - uint64(a.Offset)) / t.Size * t.Size
	}
	return t.Size
}

// RefName is the type of a reference to an object with this typing.
func RefName(tt *heaptype.Table, a Typing) string {
	t := tt.At(a.Type)
	switch a.Layout {
	case heaptype.LayoutValue, heaptype.LayoutNone:
		return "*" + t.Name
	case heaptype.LayoutArray:
		return "[]" + t.Name
	case heaptype.LayoutString:
		return "string"
	case heaptype.LayoutTrie:
		if t.Name == heaptype.TrieMapPrefix+"interface {},interface {}]" {
			return "sync.Map"
		}
		return t.Name
	default:
		return t.Name
	}
}
