package heaptype

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// byRuntimeType returns the type of a run-time descriptor in the process, nil if it is not known.
func (k *maker) byRuntimeType(addr uint64) *Type {
	if t, ok := k.byRType[addr]; ok {
		return t
	}
	k.byRType[addr] = nil // cyclic descriptors end here
	t := k.findRuntimeType(addr)
	k.byRType[addr] = t
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

// madeAtRunTime lays out a type that package reflect made at run time. It does so for funcs and for
// pointers to known types only, and returns nil for all others.
func (k *maker) madeAtRunTime(rt *goruntime.RType) *Type {
	t := &Type{Name: k.m.TypeString(rt), Kind: rt.Kind, Size: rt.Size, variant: variant{dict: rt.Addr}}
	switch rt.Kind {
	case reflect.Func:
		t.Ops = []Op{{Kind: opFunc}}
	case reflect.Pointer:
		elem := k.byRuntimeType(rt.Elem)
		if elem == nil {
			return nil
		}
		t.Ops = []Op{{Kind: opPointer, Type: elem}}
	default:
		return nil
	}
	k.add(t)
	k.number(t)
	return t
}

// sameShortName reports whether a full name ("example.com/app.T") is the one that reflect writes
// with the last path element only ("app.T").
func sameShortName(full, short string) bool {
	if i := strings.LastIndexByte(full, '/'); i >= 0 && !strings.ContainsAny(full, "[{(") {
		full = strings.TrimLeft(full[:i], "*")[:0] + full[i+1:]
	}
	return strings.TrimLeft(full, "*") == strings.TrimLeft(short, "*")
}
