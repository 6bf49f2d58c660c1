package heaptype

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// All instantiations of one shape share the code of a generic function, and its debug information
// contains only the shapes: "pkg.LRU[go.shape.string,go.shape.*uint8]" (go1.26
// cmd/compile/internal/noder/reader.go, shapify). A shape tells the memory layout of a type
// argument, not the type.
const shapePrefix = "go.shape."

// instance returns the only instantiation in the program that has the layout of a shaped type, or
// the type itself where there are none or several.
func (k *maker) instance(id debuginfo.TypeID, d debuginfo.Type) debuginfo.TypeID {
	generic, _, ok := strings.Cut(d.Name, "[")
	if !ok || generic == "" || strings.HasPrefix(d.Name, shapePrefix) || !isGenericName(generic) {
		return id
	}
	found := id
	for _, i := range k.survey().instances[generic] {
		if !k.sameLayout(d, k.names.Type(i), 0) {
			continue
		}
		if found != id {
			return id
		}
		found = i
	}
	return found
}

// boundByDictionary makes a variant of a closure type of shaped code. The dictionary at address
// dict tells which types the shapes of its captures stand for. It returns t if the dictionary tells
// nothing.
func (k *maker) boundByDictionary(t *Type, dict uint64) *Type {
	_, types := k.names.Signature(t.entry - k.m.Bias())
	captures := make([]debuginfo.Capture, len(t.captures))
	copy(captures, t.captures)
	known := false
	for i := range captures {
		if id := k.standsFor(captures[i].Type, types, dict); id != 0 {
			captures[i].Type, known = id, true
		}
	}
	if !known {
		return t
	}
	v := t.variant
	v.dict = dict
	b := k.closureOf(t.Name, t.entry, v, captures)
	b.Shaped = false
	return b
}

// standsFor returns the type that a shape stands for in the dictionary at address dict. It returns
// 0 if that is unknown: there is no dictionary, or two parameters have this shape.
func (k *maker) standsFor(shape debuginfo.TypeID, types []debuginfo.DictType, dict uint64) debuginfo.TypeID {
	found := debuginfo.TypeID(0)
	for _, d := range types {
		at := dict + 8*uint64(d.Index)
		if !k.m.Mem.Try(at, 8) {
			return 0
		}
		rtype := k.m.Mem.U64(at)
		if rt := k.m.Type(rtype); rt == nil || rt.Size != uint64(k.names.TypeHead(d.Shape).Size) {
			return 0
		}
		if d.Shape != shape {
			continue
		}
		actual := k.byRuntimeType(rtype)
		if actual == nil || (found != 0 && found != actual.Origin) {
			return 0
		}
		found = actual.Origin
	}
	return found
}

// boundBySignature makes the type of a closure of sync.OnceValue or OnceValues, with the types of
// the results. The static type of the func tells them; the inlined functions need no dictionary
// (go1.26 and go1.27 sync/oncefunc.go).
func (k *maker) boundBySignature(t *Type, fn debuginfo.TypeID) *Type {
	if len(t.captures) == 0 || !t.captures[0].ByRef {
		return t
	}
	d := k.names.Type(t.captures[0].Type)
	if !strings.HasPrefix(d.Name, "struct { sync.f func() ") {
		return t
	}
	b := t
	if first, ok := strings.CutPrefix(k.names.TypeHead(fn).Name, "func() "); ok {
		second := ""
		if strings.HasPrefix(first, "(") {
			first, second, _ = cutTypeArgs(first[1 : len(first)-1])
			second = strings.TrimPrefix(second, " ")
		}
		fields := make([]debuginfo.Field, len(d.Fields))
		copy(fields, d.Fields)
		for i := range fields {
			name := first
			switch fields[i].Name {
			case "r2":
				name = second
				fallthrough
			case "result", "r1":
				if id, ok := k.names.TypeByName(name); ok && k.names.TypeHead(id).Size == k.names.TypeHead(fields[i].Type).Size {
					fields[i].Type = id
				}
			}
		}
		d.Fields = fields
		v := t.variant
		v.fn = fn
		state := k.newType(d.Name, d.Kind, uint64(d.Size))
		state.variant = v
		k.compile(state, d, 0, "", 0)
		k.number(state)
		b = k.closureOf(t.Name, t.entry, v, t.captures)
		b.Shaped, b.Ops[0].Type, b.Ops[0].lazy = false, state, nil
	}
	return b
}

// isGenericName reports whether head, the text before a bracket, is the name of a declared type,
// not the beginning of a map, slice, array or func type.
func isGenericName(head string) bool {
	return strings.Contains(head, ".") && !strings.ContainsAny(head, "*(){ ") && !strings.HasSuffix(head, "map")
}

// sameLayout reports whether an instantiation could have a shape: equal kinds, sizes and fields.
// Pointees are not compared, since one shape stands for all pointers.
func (k *maker) sameLayout(shape, d debuginfo.Type, depth int) bool {
	if shape.Kind != d.Kind || shape.Size != d.Size || shape.Len != d.Len || len(shape.Fields) != len(d.Fields) {
		return false
	}
	if depth > 3 {
		return true
	}
	for i := range d.Fields {
		a, b := shape.Fields[i], d.Fields[i]
		if a.Name != b.Name || a.Offset != b.Offset || !k.sameLayout(k.names.Type(a.Type), k.names.Type(b.Type), depth+1) {
			return false
		}
	}
	if d.Kind == reflect.Array || d.Kind == reflect.Slice {
		return k.sameLayout(k.names.Type(shape.Elem), k.names.Type(d.Elem), depth+1)
	}
	return true
}
