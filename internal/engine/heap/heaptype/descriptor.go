package heaptype

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// byRuntimeType returns the type of a run-time descriptor in the process, nil if it is not known.
func (k *maker) byRuntimeType(addr uint64) *Type {
	described := &k.described
	if !k.m.IsConstant(addr) {
		described = &k.passing
	}
	if t, ok := described.Get(addr); ok || addr == 0 {
		return t
	}
	described.Add(addr, nil) // cyclic descriptors end here
	t := k.findRuntimeType(addr)
	described.Add(addr, t)
	if described == &k.passing {
		if k.program.passing++; k.program.passing == maxPassing {
			k.forget()
		}
	}
	return t
}

func (k *maker) findRuntimeType(addr uint64) *Type {
	rt := k.m.Type(addr)
	if rt == nil {
		return nil
	}
	ids := k.names.TypesByHash(rt.Hash)
	var best debuginfo.TypeID
	for _, id := range ids {
		d := k.names.Type(id)
		if uint64(d.Size) != rt.Size || d.Kind != rt.Kind {
			continue
		}
		// Several types may have one hash. If the debug information is the binary's own, the
		// descriptor's address decides. The name decides if it comes from a twin (see package
		// twin), whose descriptors may have other addresses.
		if d.RuntimeAddr+k.m.Bias() == addr {
			return k.byID(id)
		}
		if best == 0 || sameShortName(d.Name, k.m.TypeString(rt)) {
			best = id
		}
	}
	if best != 0 {
		return k.byID(best)
	}
	return k.madeAtRunTime(rt)
}

// madeAtRunTime lays out a type that package reflect made at run time: a func, or a pointer, slice,
// array or struct of known types. It returns nil for maps and channels, and for structs that the
// compiler made without a name, such as the groups of a map.
func (k *maker) madeAtRunTime(rt *goruntime.RType) *Type {
	t := newIn[Type](k.program)
	t.Kind, t.Size, t.variant = rt.Kind, rt.Size, variant{dict: rt.Addr}
	elem := k.byRuntimeType(rt.Elem)
	_, _, onHeap := k.m.Slot(rt.Addr)
	switch {
	case rt.Kind == reflect.Func:
		t.Name = k.m.TypeString(rt)
		k.addOp(t, Op{Kind: opFunc})
	case rt.Kind == reflect.Struct && onHeap:
		k.madeStruct(t, rt)
	case elem == nil:
		return nil
	case rt.Kind == reflect.Pointer:
		t.Name = "*" + elem.Name
		k.addOp(t, Op{Kind: opPointer, Type: elem})
	case rt.Kind == reflect.Slice:
		t.Name = "[]" + elem.Name
		k.addOp(t, Op{Kind: opSlice, Type: elem})
	case rt.Kind == reflect.Array && elem.Size > 0:
		n := rt.Size / elem.Size
		t.Name = "[" + strconv.FormatUint(n, 10) + "]" + elem.Name
		if elem.HasPointers() {
			k.addOp(t, Op{Kind: OpArray, Type: elem, Len: n})
		}
	default:
		return nil
	}
	t.Name = k.text(t.Name)
	k.add(t)
	k.number(t)
	return t
}

// madeStruct lays out a struct. References in fields of an unknown type stay untyped.
func (k *maker) madeStruct(t *Type, rt *goruntime.RType) {
	var fields []string
	all, _ := k.m.StructFields(rt)
	for _, f := range all {
		name, of := k.m.FieldName(f), k.byRuntimeType(f.Type)
		if of == nil {
			continue
		}
		fields = append(fields, name+" "+of.Name)
		for _, o := range of.Ops {
			if len(t.Ops) > maxOps {
				return
			}
			o.Offset, o.label = o.Offset+f.Offset, JoinLabel(name, o.label)
			k.addOp(t, o)
		}
	}
	t.Name = "struct { " + strings.Join(fields, "; ") + " }"
}

// sameShortName reports whether a full name ("example.com/app.T") is the one that reflect writes
// with the last path element only ("app.T").
func sameShortName(full, short string) bool {
	if !strings.ContainsAny(full, "[{(") {
		full = symbol.LastElement(full)
	}
	return strings.TrimLeft(full, "*") == strings.TrimLeft(short, "*")
}
