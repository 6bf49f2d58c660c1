package heaptype

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// closure makes the type of a function's closures, a new Type with each call.
func (k *maker) closure(f *goruntime.Func) *Type {
	switch f.Name {
	case "reflect.makeFuncStub":
		return k.closureLike(f, "reflect.makeFuncImpl")
	case "reflect.methodValueCall":
		return k.closureLike(f, "reflect.methodValue")
	}
	captures := k.names.Captures(f.Entry - k.m.Bias())
	if symbol.IsShaped(f.Name) && len(captures) == 1 && captures[0].Name == debuginfo.ReceiverName && !captures[0].ByRef {
		t := k.closureOf("func "+f.Name, f.Entry, variant{}, nil)
		t.receiver = &k.captureList(captures)[0]
		return t
	}
	return k.closureOf("func "+f.Name, f.Entry, variant{}, captures)
}

// methodValue lays out the closure of a method value in shaped code: the receiver, and behind it
// the dictionary. It returns t if the object is another: only objects tell wrappers of method
// values from those of method expressions, whose closures hold the dictionary alone.
func (k *maker) methodValue(t *Type, v variant) *Type {
	whole := k.closureOf(t.Name, t.entry, v, []debuginfo.Capture{*t.receiver})
	if dict := whole.Size / 8; dict < 64 && whole.Mask|1<<dict == v.mask && sizeClass(whole.Size+8) == v.size {
		return whole
	}
	return t
}

// closureOf lays out a closure that holds captures, behind the code pointer.
func (k *maker) closureOf(name string, entry uint64, v variant, captures []debuginfo.Capture) *Type {
	t := k.newType(name, reflect.Func, 8)
	t.entry, t.variant, t.Shaped = entry, v, symbol.IsShaped(name)
	for _, c := range captures {
		if strings.HasPrefix(c.Name, ".autotmp_") {
			// a temporary of the compiler; its number varies between builds
			c.Name = captured
		}
		d := k.names.Type(c.Type)
		size := uint64(8)
		if c.ByRef {
			k.addOp(t, Op{Offset: uint64(c.Offset), Kind: opPointer, label: c.Name, lazy: k.ref(c.Type)})
			t.doubtful = t.doubtful || d.Kind == reflect.Array || d.Kind == reflect.Struct
		} else {
			size = uint64(max(d.Size, 0))
			k.compile(t, d, uint64(c.Offset), c.Name, 0)
		}
		t.Size = max(t.Size, (uint64(c.Offset)+size+7)&^7)
	}
	t.captures = k.captureList(captures)
	k.number(t)
	return t
}

// closureLike gives a closure the layout of a struct type that starts with the code pointer.
func (k *maker) closureLike(f *goruntime.Func, name string) *Type {
	t := k.newType("func "+f.Name, reflect.Func, 8)
	t.entry = f.Entry
	if id, ok := k.names.TypeByName(name); ok {
		d := k.names.Type(id)
		t.Size = uint64(d.Size)
		k.compile(t, d, 0, "", 0)
	}
	k.number(t)
	t.whole = true
	return t
}

// variant makes the variant v of a closure type. It returns t itself if v adds nothing to t.
func (k *maker) variant(t *Type, v variant) *Type {
	switch {
	case v.dict != 0:
		return k.boundByDictionary(t, v.dict)
	case v.fn != 0:
		return k.boundBySignature(t, v.fn)
	}
	return k.completed(t, v)
}

// captured is the label of a captured value that no variable of the function describes.
const captured = "$captured"

// completed corrects the captured variables of a closure type, and adds the captured arrays and
// structs that the function reads directly from its closure: debug information lists no variables
// for them. It does contain the struct type that the closure is allocated as, though not which
// function the struct type belongs to (go1.26 cmd/compile/internal/typecheck/func.go, ClosureType).
// completed takes the struct type that agrees with the variables and the pointer words.
//
// The toolchain of go1.27 omits these struct types. Then the size of the closure tells which
// variables lie in it (see byRoom), and what nothing lists stays untyped.
//
//go:norace
func (k *maker) completed(t *Type, v variant) *Type {
	if t.receiver != nil {
		return k.methodValue(t, v)
	}
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
			return t // two struct types fit
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

// byRoom decides which arrays and structs a closure holds itself, and of which it holds a
// reference. The distance to the next variable, or to the end of the object, tells.
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

// fillGaps returns the known captures and those that only the struct type of the closure lists; nil
// if the variables and the struct type disagree.
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
				// captured by value, even if the function keeps only the variable's address
				c.Name = known[0].Name
			} else if c = known[0]; !c.ByRef || field.Elem != c.Type {
				return nil
			}
			known = known[1:]
		case field.Kind != reflect.Struct && field.Kind != reflect.Array && !symbol.IsDictionary(field.Name) && k.byID(f.Type).HasPointers():
			return nil // a variable would describe this field
		}
		all = append(all, c)
	}
	if len(known) > 0 {
		return nil
	}
	return all
}
