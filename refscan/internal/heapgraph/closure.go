package heapgraph

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// closure returns the type of closures of the function at an address, nil if there is no such
// function.
func (tt *typeTable) closure(entry uint64) *Type {
	if t, ok := tt.closures[entry]; ok {
		return t
	}
	f := tt.m.FuncAt(entry)
	if f == nil || f.Entry != entry {
		tt.closures[entry] = nil
		return nil
	}
	var t *Type
	switch f.Name {
	case "reflect.makeFuncStub":
		t = tt.closureLike(f, "reflect.makeFuncImpl")
	case "reflect.methodValueCall":
		t = tt.closureLike(f, "reflect.methodValue")
	default:
		t = tt.closureOf("func "+f.Name, entry, tt.names.Captures(entry-tt.m.Bias()))
	}
	tt.closures[entry] = t
	return t
}

// closureOf lays out a closure that holds captures, behind the code pointer.
func (tt *typeTable) closureOf(name string, entry uint64, captures []debuginfo.Capture) *Type {
	t := tt.add(&Type{Name: name, Kind: reflect.Func, Size: 8, entry: entry, shaped: isShaped(name)})
	for _, c := range captures {
		if strings.HasPrefix(c.Name, ".autotmp_") { // the compiler's, with a number that varies between builds
			c.Name = captured
		}
		d := tt.names.Type(c.Type)
		size := uint64(8)
		if c.ByRef {
			t.ops = append(t.ops, op{off: uint64(c.Offset), kind: opPointer, label: c.Name, n: uint64(c.Type)})
			t.doubtful = t.doubtful || d.Kind == reflect.Array || d.Kind == reflect.Struct
		} else {
			size = uint64(max(d.Size, 0))
			tt.compile(t, d, uint64(c.Offset), c.Name, 0)
		}
		t.Size = max(t.Size, (uint64(c.Offset)+size+7)&^7)
	}
	t.captures = captures
	tt.number(t)
	return t
}

// closureLike gives a closure the layout of a struct type that starts with the code pointer.
func (tt *typeTable) closureLike(f *goruntime.Func, name string) *Type {
	t := tt.add(&Type{Name: "func " + f.Name, Kind: reflect.Func, Size: 8, entry: f.Entry})
	if id, ok := tt.names.TypeByName(name); ok {
		d := tt.names.Type(id)
		t.Size = uint64(d.Size)
		tt.compile(t, d, 0, "", 0)
	}
	tt.number(t)
	t.whole = t
	return t
}

// closureObject returns the type of a closure on the heap, which tells more than its function does: the words that hold
// pointers, and the dictionary of shaped code. fn is the static type of the reference, 0 if it has none.
func (g *Graph) closureObject(t *Type, s *goruntime.Span, obj uint32, fn debuginfo.TypeID) *Type {
	if s.NoScan || !s.HasSmallMask() || t.entry == 0 {
		return t
	}
	mask := s.SmallMask(obj)
	if t.mask() != mask || t.doubtful {
		t = g.types.completed(t, mask, s.ElemSize)
	}
	if t.shaped {
		if bound := g.types.boundByDictionary(t, g.dictionary(s.Addr(obj))); bound != t || fn == 0 {
			return bound
		}
		return g.types.boundBySignature(t, fn)
	}
	return t
}

// mask is the pointer words of a type of at most 64 words.
func (t *Type) mask() (mask uint64) {
	for _, w := range t.words {
		mask |= 1 << (w & 63)
	}
	return mask
}

// captured names what a closure captures but no variable of its function describes.
const captured = "$captured"

// completed corrects the captured variables and adds the captured variables that debug information leaves out, arrays and structs that the function reads
// right out of its closure. The closure's own layout is in the debug information too, though not whose it is
// (go1.26 cmd/compile/internal/typecheck/func.go, ClosureType): it is the one that agrees with the variables and the pointer words.
//
// The toolchain of go1.27 leaves these layouts out. Then the room that a closure has tells what lies in it, and what nothing lists
// stays untyped.
func (tt *typeTable) completed(t *Type, mask, size uint64) *Type {
	if t.whole != nil {
		return t.whole
	}
	t.whole = t
	tt.survey()
	var found []debuginfo.Capture
	for _, layout := range tt.layouts {
		c := tt.fillGaps(layout, t.captures)
		if c == nil || tt.byID(layout.ID).mask() != mask {
			continue
		}
		if found != nil {
			return t // it could be either
		}
		found = c
	}
	if found == nil {
		found = tt.byRoom(t.captures, size)
	}
	if whole := tt.closureOf(t.Name, t.entry, found); whole.mask()&^mask == 0 {
		t.whole = whole
	}
	return t.whole
}

// byRoom tells arrays and structs that lie in a closure from references to them by the distance to the next variable, or to the end
// of the object.
func (tt *typeTable) byRoom(captures []debuginfo.Capture, size uint64) []debuginfo.Capture {
	decided := make([]debuginfo.Capture, len(captures))
	copy(decided, captures)
	for i, c := range captures {
		d := tt.names.Type(c.Type)
		if !c.ByRef || d.Size <= 8 || (d.Kind != reflect.Array && d.Kind != reflect.Struct) {
			continue
		}
		if i+1 < len(captures) {
			decided[i].ByRef = captures[i+1].Offset-c.Offset < d.Size
		} else {
			decided[i].ByRef = sizeClass(uint64(c.Offset+d.Size)) != size
		}
	}
	return decided
}

// fillGaps returns the captures with those that only the layout of a closure has, nil if the two disagree.
func (tt *typeTable) fillGaps(layout debuginfo.Type, known []debuginfo.Capture) []debuginfo.Capture {
	var all []debuginfo.Capture
	for _, f := range layout.Fields[1:] {
		field := tt.names.Type(f.Type)
		c := debuginfo.Capture{Name: captured, Type: f.Type, Offset: f.Offset}
		switch {
		case len(known) > 0 && known[0].Offset == f.Offset:
			if known[0].Type == f.Type {
				c.Name = known[0].Name // by value, even if its address is what the function keeps of it
			} else if c = known[0]; !c.ByRef || field.Elem != c.Type {
				return nil
			}
			known = known[1:]
		case field.Kind != reflect.Struct && field.Kind != reflect.Array && !isDictionary(field.Name) && tt.byID(f.Type).HasPointers():
			return nil // there would be a variable
		}
		all = append(all, c)
	}
	if len(known) > 0 {
		return nil
	}
	return all
}

// isDictionary reports whether a captured variable's type is that of a pointer to a dictionary.
func isDictionary(typeName string) bool {
	return strings.HasPrefix(typeName, "*[") && strings.HasSuffix(typeName, "]uintptr")
}
