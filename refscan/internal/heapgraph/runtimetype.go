package heapgraph

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// descriptorNames is implemented by Names that know no types but those with a descriptor.
type descriptorNames interface {
	TypeAt(addr uint64) debuginfo.TypeID
}

// nameless reports whether variables have no names.
func (g *Graph) nameless() bool {
	_, ok := g.names.(descriptorNames)
	return ok
}

// byRuntimeType returns the type of a run-time descriptor in the process, nil if it is not known.
func (tt *typeTable) byRuntimeType(addr uint64) *Type {
	if t, ok := tt.byRType[addr]; ok {
		return t
	}
	tt.byRType[addr] = nil // cyclic descriptors end here
	t := tt.findRuntimeType(addr)
	tt.byRType[addr] = t
	return t
}

func (tt *typeTable) findRuntimeType(addr uint64) *Type {
	rt := tt.m.Type(addr)
	if rt == nil {
		return nil
	}
	if n, ok := tt.names.(descriptorNames); ok {
		return tt.byID(n.TypeAt(addr))
	}
	ids := tt.names.TypesByHash(rt.Hash)
	var best debuginfo.TypeID
	for _, id := range ids {
		d := tt.names.Type(id)
		if uint64(d.Size) != rt.Size || d.Kind != rt.Kind {
			continue
		}
		// Among equal hashes the descriptor's own address decides where the binary and its debug
		// information are one file; the name decides in a twin, whose descriptors may lie elsewhere.
		if d.RuntimeAddr+tt.m.Bias() == addr {
			return tt.byID(id)
		}
		if best == 0 || sameShortName(d.Name, tt.m.TypeString(rt)) {
			best = id
		}
	}
	if best != 0 {
		return tt.byID(best)
	}
	return tt.madeAtRunTime(rt)
}

// madeAtRunTime lays out the types that package reflect makes and that need nothing else: funcs, and
// pointers to what is known.
func (tt *typeTable) madeAtRunTime(rt *goruntime.RType) *Type {
	t := &Type{Name: tt.m.TypeString(rt), Kind: rt.Kind, Size: rt.Size}
	switch rt.Kind {
	case reflect.Func:
		t.ops = []op{{kind: opFunc}}
	case reflect.Pointer:
		elem := tt.byRuntimeType(rt.Elem)
		if elem == nil {
			return nil
		}
		t.ops = []op{{kind: opPointer, typ: elem}}
	default:
		return nil
	}
	tt.add(t)
	tt.number(t)
	return t
}

// sameShortName reports whether a full name ("example.com/app.T") is the one that reflect writes with
// the last path element only ("app.T").
func sameShortName(full, short string) bool {
	if i := strings.LastIndexByte(full, '/'); i >= 0 && !strings.ContainsAny(full, "[{(") {
		full = strings.TrimLeft(full[:i], "*")[:0] + full[i+1:]
	}
	return strings.TrimLeft(full, "*") == strings.TrimLeft(short, "*")
}
