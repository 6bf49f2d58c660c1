package heapgraph

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
)

// Code of generic functions is shared between instantiations of one shape, and its debug information
// knows the shapes only: "pkg.LRU[go.shape.string,go.shape.*uint8]" (go1.26
// cmd/compile/internal/noder/reader.go, shapify). Shapes say how memory is laid out, not what it is.
const shapePrefix = "go.shape."

func isShaped(name string) bool { return strings.Contains(name, shapePrefix) }

// instance returns the only instantiation in the program that has the layout of a shaped type, or the
// type itself where there are none or several.
func (tt *typeTable) instance(id debuginfo.TypeID, d debuginfo.Type) debuginfo.TypeID {
	generic, _, ok := strings.Cut(d.Name, "[")
	if !ok || generic == "" || strings.HasPrefix(d.Name, shapePrefix) || !isGenericName(generic) {
		return id
	}
	if tt.instances == nil {
		tt.instances = make(map[string][]debuginfo.TypeID)
		for i := 1; i <= tt.names.NumTypes(); i++ {
			name := tt.names.Type(debuginfo.TypeID(i)).Name
			if head, _, ok := strings.Cut(name, "["); ok && isGenericName(head) && !isShaped(name) {
				tt.instances[head] = append(tt.instances[head], debuginfo.TypeID(i))
			}
		}
	}
	found := id
	for _, i := range tt.instances[generic] {
		if !tt.sameLayout(d, tt.names.Type(i), 0) {
			continue
		}
		if found != id {
			return id
		}
		found = i
	}
	return found
}

// isGenericName reports whether what stands before a bracket is the name of a declared type, not the
// beginning of a map, slice, array or func type.
func isGenericName(head string) bool {
	return strings.Contains(head, ".") && !strings.ContainsAny(head, "*(){ ") && !strings.HasSuffix(head, "map")
}

// sameLayout reports whether an instantiation could have a shape: equal kinds, sizes and fields. What
// pointers lead to is not compared, since one shape stands for all pointers.
func (tt *typeTable) sameLayout(shape, d debuginfo.Type, depth int) bool {
	if shape.Kind != d.Kind || shape.Size != d.Size || shape.Len != d.Len || len(shape.Fields) != len(d.Fields) {
		return false
	}
	if depth > 3 {
		return true
	}
	for i := range d.Fields {
		a, b := shape.Fields[i], d.Fields[i]
		if a.Name != b.Name || a.Offset != b.Offset || !tt.sameLayout(tt.names.Type(a.Type), tt.names.Type(b.Type), depth+1) {
			return false
		}
	}
	if d.Kind == reflect.Array || d.Kind == reflect.Slice {
		return tt.sameLayout(tt.names.Type(shape.Elem), tt.names.Type(d.Elem), depth+1)
	}
	return true
}
