package heapgraph

import (
	"reflect"
	"strings"
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
	t := tt.add(&Type{Name: "func " + f.Name, Kind: reflect.Func, Size: 8, entry: entry})
	tt.closures[entry] = t
	switch {
	case f.Name == "reflect.makeFuncStub":
		tt.embed(t, "reflect.makeFuncImpl")
	case f.Name == "reflect.methodValueCall":
		tt.embed(t, "reflect.methodValue")
	case strings.HasSuffix(f.Name, "-fm"):
		tt.receiver(t, strings.TrimSuffix(f.Name, "-fm"))
	default:
		for _, c := range tt.names.Captures(entry - tt.m.Bias()) {
			d := tt.names.Type(c.Type)
			size := uint64(8)
			if c.ByRef {
				t.ops = append(t.ops, op{off: uint64(c.Offset), kind: opPointer, label: c.Name, n: uint64(c.Type)})
			} else {
				size = uint64(max(d.Size, 0))
				tt.compile(t, d, uint64(c.Offset), c.Name, 0)
			}
			t.Size = max(t.Size, (uint64(c.Offset)+size+7)&^7)
		}
	}
	tt.number(t)
	return t
}

// embed gives a closure the layout of a struct type that starts with the code pointer.
func (tt *typeTable) embed(t *Type, name string) {
	if id, ok := tt.names.TypeByName(name); ok {
		d := tt.names.Type(id)
		t.Size = uint64(d.Size)
		tt.compile(t, d, 0, "", 0)
	}
}

// receiver gives a method value ("pkg.(*T).M", "pkg.T.M") its receiver, at offset 8 of the closure.
func (tt *typeTable) receiver(t *Type, method string) {
	i := strings.LastIndexByte(method, '.')
	if i < 0 {
		return
	}
	recv := method[:i]
	if j := strings.Index(recv, ".(*"); j >= 0 && strings.HasSuffix(recv, ")") {
		t.Size = 16
		name := recv[:j+1] + recv[j+3:len(recv)-1]
		o := op{off: 8, kind: opPointer, label: "$recv"}
		if id, ok := tt.names.TypeByName(name); ok {
			o.n = uint64(id)
		}
		t.ops = append(t.ops, o)
		return
	}
	if id, ok := tt.names.TypeByName(recv); ok {
		d := tt.names.Type(id)
		t.Size = (8 + uint64(max(d.Size, 0)) + 7) &^ 7
		tt.compile(t, d, 8, "$recv", 0)
	}
}
