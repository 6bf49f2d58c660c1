package heaptype

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/goruntime"
)

// closure returns the type of closures of a function. It is a new one each time that it is asked
// for.
func (k *maker) closure(f *goruntime.Func) *Type {
	switch f.Name {
	case "reflect.makeFuncStub":
		return k.closureLike(f, "reflect.makeFuncImpl")
	case "reflect.methodValueCall":
		return k.closureLike(f, "reflect.methodValue")
	}
	return k.closureOf("func "+f.Name, f.Entry, variant{}, k.names.Captures(f.Entry-k.m.Bias()))
}

// closureOf lays out a closure that holds captures, behind the code pointer.
func (k *maker) closureOf(name string, entry uint64, v variant, captures []debuginfo.Capture) *Type {
	t := k.add(&Type{Name: name, Kind: reflect.Func, Size: 8, entry: entry, made: v, Shaped: IsShaped(name)})
	for _, c := range captures {
		if strings.HasPrefix(c.Name, ".autotmp_") {
			// the compiler's, with a number that varies between builds
			c.Name = captured
		}
		d := k.names.Type(c.Type)
		size := uint64(8)
		if c.ByRef {
			t.Ops = append(t.Ops, Op{Offset: uint64(c.Offset), Kind: opPointer, label: c.Name, lazy: k.ref(c.Type)})
			t.doubtful = t.doubtful || d.Kind == reflect.Array || d.Kind == reflect.Struct
		} else {
			size = uint64(max(d.Size, 0))
			k.compile(t, d, uint64(c.Offset), c.Name, 0)
		}
		t.Size = max(t.Size, (uint64(c.Offset)+size+7)&^7)
	}
	t.captures = captures
	k.number(t)
	return t
}

// closureLike gives a closure the layout of a struct type that starts with the code pointer.
func (k *maker) closureLike(f *goruntime.Func, name string) *Type {
	t := k.add(&Type{Name: "func " + f.Name, Kind: reflect.Func, Size: 8, entry: f.Entry})
	if id, ok := k.names.TypeByName(name); ok {
		d := k.names.Type(id)
		t.Size = uint64(d.Size)
		k.compile(t, d, 0, "", 0)
	}
	k.number(t)
	t.whole = true
	return t
}

// variant makes a variant of a closure type; it is the type itself if there is nothing special.
func (k *maker) variant(t *Type, v variant) *Type {
	switch {
	case v.dict != 0:
		return k.boundByDictionary(t, v.dict)
	case v.fn != 0:
		return k.boundBySignature(t, v.fn)
	}
	return k.completed(t, v)
}

// captured names what a closure captures but no variable of its function describes.
const captured = "$captured"

// completed corrects the captured variables and adds the captured variables that debug information
// leaves out, arrays and structs that the function reads right out of its closure. The closure's
// own layout is in the debug information too, though not whose it is (go1.26
// cmd/compile/internal/typecheck/func.go, ClosureType): it is the one that agrees with the
// variables and the pointer words.
//
// The toolchain of go1.27 leaves these layouts out. Then the room that a closure has tells what
// lies in it, and what nothing lists stays untyped.
//
//go:norace
func (k *maker) completed(t *Type, v variant) *Type {
	var found []debuginfo.Capture
	for _, layout := range k.survey().layouts {
		if sizeClass(uint64(layout.Size)) != v.size {
			continue
		}
		c := k.fillGaps(layout, t.captures)
		if c == nil || k.byID(layout.ID).Mask != v.mask {
			continue
		}
		if found != nil {
			return t // it could be either
		}
		found = c
	}
	if found == nil {
		found = k.byRoom(t.captures, v.size)
	}
	if whole := k.closureOf(t.Name, t.entry, v, found); whole.Mask&^v.mask == 0 {
		return whole
	}
	return t
}

// byRoom tells arrays and structs that lie in a closure from references to them by the distance to
// the next variable, or to the end of the object.
func (k *maker) byRoom(captures []debuginfo.Capture, size uint64) []debuginfo.Capture {
	decided := make([]debuginfo.Capture, len(captures))
	copy(decided, captures)
	for i, c := range captures {
		d := k.names.TypeHead(c.Type)
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

// fillGaps returns the captures with those that only the layout of a closure has, nil if the two
// disagree.
func (k *maker) fillGaps(layout debuginfo.Type, known []debuginfo.Capture) []debuginfo.Capture {
	var all []debuginfo.Capture
	if len(layout.Fields) < 2 {
		return nil
	}
	for _, f := range layout.Fields[1:] {
		field := k.names.TypeHead(f.Type)
		c := debuginfo.Capture{Name: captured, Type: f.Type, Offset: f.Offset}
		switch {
		case len(known) > 0 && known[0].Offset == f.Offset:
			if known[0].Type == f.Type {
				// by value, even if its address is what the function keeps of it
				c.Name = known[0].Name
			} else if c = known[0]; !c.ByRef || field.Elem != c.Type {
				return nil
			}
			known = known[1:]
		case field.Kind != reflect.Struct && field.Kind != reflect.Array && !isDictionary(field.Name) && k.byID(f.Type).HasPointers():
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
