package nativeholders

import (
	"reflect"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/heaptype"
	"github.com/leakgate/leakgate/internal/nodename"
)

// maxNesting is how deep values hold others at most, as in package heaptype.
const maxNesting = 64

// labelAt names the part of a value at an offset: "pool[*].handle". Unlike the labels of package
// heaptype it has names for all words, not only for references.
func labelAt(names heaptype.Names, id debuginfo.TypeID, off int64) string {
	label := ""
	for range maxNesting {
		switch t := names.Type(id); t.Kind {
		case reflect.Struct:
			in := -1
			for i, f := range t.Fields {
				if f.Offset <= off && (in < 0 || f.Offset >= t.Fields[in].Offset) {
					in = i
				}
			}
			if in < 0 {
				return label
			}
			label = join(label, t.Fields[in].Name)
			id, off = t.Fields[in].Type, off-t.Fields[in].Offset
		case reflect.Array:
			elem := names.Type(t.Elem)
			if elem.Size <= 0 || off >= t.Size {
				return label
			}
			label += "[*]"
			id, off = t.Elem, off%elem.Size
		default:
			return label
		}
	}
	return label
}

// join appends a label to a path; "" is the value itself.
func join(path, label string) string {
	if label == "" {
		return path
	}
	return nodename.Join(path, label)
}
