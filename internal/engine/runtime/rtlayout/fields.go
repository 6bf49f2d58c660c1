package rtlayout

import (
	"reflect"
	"strings"
)

// Fill looks up the offsets of fields of the runtime's structures, in bytes, for pointers to
// structs with tags, such as those in heap.go. The tag "of" names the structure of the fields below
// it. The tag "is" names a field, or the fields on the way to it; without a name it is the size of
// the structure. Behind a comma it has the bytes of a number of less than 8, for readers:
// TestFieldsAreThere compares them with the debug information. Below a tag "at", which names a
// variable, are the addresses of the variable's fields; without a name, of variables. The first
// name that is missing is the error of the lookup.
func (l *Lookup) Fill(structs ...any) {
	for _, s := range structs {
		to := reflect.ValueOf(s).Elem()
		var in place
		for i := range to.NumField() {
			if tag := to.Type().Field(i).Tag; !in.begins(tag) {
				name, _, _ := strings.Cut(tag.Get("is"), ",")
				to.Field(i).SetUint(l.find(in, name))
			}
		}
	}
}

// A place is where fields are: in structures of a type, or in a variable.
type place struct{ typ, variable string }

// begins reports whether a tag begins a place, and if so goes there.
func (p *place) begins(tag reflect.StructTag) bool {
	typ, structure := tag.Lookup("of")
	variable, address := tag.Lookup("at")
	if structure || address {
		*p = place{typ, variable}
	}
	return structure || address
}

// find returns the offset of a field, the size of a structure, or the address of a variable or of
// its field.
func (l *Lookup) find(in place, name string) uint64 {
	switch {
	case in.variable != "":
		v := l.Variable(in.variable)
		t := l.names.Type(v.Type)
		off, _, ok := l.Field(&t, name)
		if !ok {
			l.Fail("the variable %s has no field %s", in.variable, name)
		}
		return v.Addr + off
	case in.typ == "":
		return l.Variable(name).Addr
	case name == "":
		return l.Size(in.typ)
	default:
		off, _ := l.Range(in.typ, name)
		return off
	}
}
