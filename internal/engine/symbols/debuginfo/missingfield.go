package debuginfo

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// A MissingField is a field that a path goes by, and that the struct there does not have.
type MissingField struct {
	Path   string // the path before the field
	Name   string
	Struct string   // name of the struct's type
	Fields []string // those that there are, with those of embedded structs: "conns", "pool", "pool.idle"
}

// MissingField follows a path from a variable of a package or function, such as ".conns[*].buf",
// through the static types of fields, pointers, and the elements and keys of slices, arrays and
// maps. It returns the first field that the struct there does not have. It returns nil if there is
// none, and from where the static types do not say what lies below: at interfaces, functions and
// channels, and at names that are not those of fields.
//
// Types of the standard library may have other fields in paths than in their declarations.
func (p *Inventory) MissingField(variable, path string) *MissingField {
	var missing *MissingField
	for _, t := range p.TypesOf(variable) {
		if missing = FieldMissing(p.Index, t, path); missing == nil {
			return nil
		}
	}
	return missing
}

// TypesOf returns the types of the variables of a name: one of a package, or all that functions
// have of that name. For the latter it reads the variables of all functions.
func (p *Inventory) TypesOf(variable string) (types []TypeID) {
	if g, ok := p.Index.GlobalByName(variable); ok {
		return []TypeID{g.Type}
	}
	p.locals(func(name string, l *Local) bool {
		if name == variable {
			types = append(types, l.Type)
		}
		return true
	})
	return types
}

// FieldMissing is MissingField for a variable of a type.
func FieldMissing(x *Index, t TypeID, path string) *MissingField {
	for at := 0; at < len(path); {
		d := pointee(x, t)
		next := at + fieldEnd(path[at:])
		name := path[at+1 : next]
		ok := true
		switch {
		case name == "*]" && (d.Kind == reflect.Map || d.Kind == reflect.Slice || d.Kind == reflect.Array):
			t = d.Elem
		case name == "$key]":
			t = d.Key // 0, of which there is no type, unless it is a map
		case d.Kind == reflect.Struct && path[at] == '.' && symbol.IsIdentifier(name):
			t, ok = memberOf(x, d.ID, name)
		default:
			return nil
		}
		if !ok {
			if hasOtherField(x, d.Name, name) {
				return nil
			}
			return &MissingField{Path: path[:at], Name: name, Struct: d.Name, Fields: fieldPaths(x, d.ID, "", 0)}
		}
		at = next
	}
	return nil
}

// pointee returns the type that a pointer type points to, or the type itself if it is another.
func pointee(x *Index, t TypeID) Type {
	d := x.Type(t)
	if d.Kind == reflect.Pointer {
		return x.Type(d.Elem)
	}
	return d
}

// fieldEnd returns where the first field or element of a path ends.
func fieldEnd(path string) int {
	if i := strings.IndexAny(path[1:], ".["); i >= 0 {
		return 1 + i
	}
	return len(path)
}

func memberOf(x *Index, t TypeID, name string) (field TypeID, ok bool) {
	for _, f := range x.Type(t).Fields {
		if f.Name == name {
			return f.Type, true
		}
	}
	return 0, false
}

// hasOtherField reports whether a path may go by a field of that name although the struct type
// part lacks it: a pointer to such a struct may lead into an object of another type that contains
// one. Such an object's fields are those of its own type.
func hasOtherField(x *Index, part, name string) bool {
	for id := TypeID(1); int(id) <= x.NumTypes(); id++ {
		if _, ok := memberOf(x, id, name); ok && contains(x, id, genericName(part), 0) {
			return true
		}
	}
	return false
}

// maxNesting bounds the nesting of structs and arrays in one value.
const maxNesting = 64

// contains reports whether values of the type id contain a struct of a type, whose name is given
// without type arguments: instances of a generic type may be known by the shapes of these alone.
func contains(x *Index, id TypeID, part string, depth int) bool {
	t := x.Type(id)
	switch {
	case depth == maxNesting:
	case t.Kind == reflect.Array:
		return contains(x, t.Elem, part, depth+1)
	case t.Kind == reflect.Struct && genericName(t.Name) == part:
		return true
	default:
		for _, f := range t.Fields {
			if contains(x, f.Type, part, depth+1) {
				return true
			}
		}
	}
	return false
}

// genericName is a type's name without its type arguments.
func genericName(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name
}

// fieldPaths lists the fields of a struct type, and those of the structs that it embeds.
func fieldPaths(x *Index, t TypeID, prefix string, depth int) (paths []string) {
	const deepest = 4
	for _, f := range pointee(x, t).Fields {
		if f.Name != "_" {
			paths = append(paths, prefix+f.Name)
		}
		if f.Embedded && depth < deepest {
			paths = append(paths, fieldPaths(x, f.Type, prefix+f.Name+".", depth+1)...)
		}
	}
	return paths
}
