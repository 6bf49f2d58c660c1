package alloc

import (
	"cmp"
	"reflect"
	"sort"
	"strings"
	"unsafe"

	"github.com/leakgate/leakgate/internal/alloctrace"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
)

// A row sums the allocations of an operation of one type or kind.
type row struct {
	name    string // of the type, from naming.TypeName, or a description of the objects
	typed   bool   // name is that of a type
	line    string // path in golden files of objects without a type: "op.untyped"
	runtime bool   // records that the runtime keeps for later use: no bound counts them
	size    int64  // of one object, in bytes; 0 if sizes differ
	objects int64
	bytes   int64
	unsized int64           // objects whose size is unknown
	over    bool            // a broken bound, or golden file line, counts it
	sizes   map[int64]int64 // number of objects by size
	// of an object, or of its elements if the type is [n]T; nil unless generic code tells only the
	// shapes of type arguments
	shape reflect.Type
	array bool   // the objects are arrays
	tiny  bool   // they have no pointers, and share blocks
	slice string // "[]T" if the type is [n]T
}

const (
	untyped    = "strings, bytes, and other memory that the runtime knows no type of"
	mapHeaders = "headers of maps"
	// path of mapHeaders in golden files
	headersLine = "op.mapheaders"
	gaps        = "gaps in blocks that small objects share"
)

// rowsOf sums allocations by name; the rows with most objects come first. Small objects of a type
// count with their own size. What else the blocks have that they share is memory of no known type,
// or gaps.
func rowsOf(counts *alloctrace.Counts, classes []int64) []*row {
	of := make(map[string]*row)
	for _, n := range counts.Own {
		r := kindOf(n, classes)
		sum := of[r.name]
		if sum == nil {
			of[r.name] = r
			sum = r
			sum.sizes = make(map[int64]int64)
		} else if sum.size != n.Size {
			sum.size = 0
		}
		sum.sizes[n.Size] += n.Objects
		if n.Unsized {
			sum.unsized += n.Objects
		}
		sum.objects += n.Objects
		sum.bytes += n.Bytes()
	}
	switch n := of[untyped]; {
	case n != nil:
		n.bytes -= counts.Saved
	case counts.Saved < 0:
		of[gaps] = &row{name: gaps, bytes: -counts.Saved}
	}
	rows := make([]*row, 0, len(of))
	for _, r := range of {
		rows = append(rows, r)
	}
	sort.Slice(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		return cmp.Or(b.objects-a.objects, b.bytes-a.bytes, int64(strings.Compare(a.name, b.name))) < 0
	})
	return rows
}

// kindOf returns a row for a count, without its figures.
func kindOf(n *alloctrace.Count, classes []int64) *row {
	r := &row{typed: true, size: n.Size}
	var t reflect.Type
	pkg := ""
	if n.Type != 0 {
		t = typeAt(n.Type)
		element := t
		if t.Kind() == reflect.Pointer && t.Name() == "" {
			element = t.Elem()
		}
		pkg = element.PkgPath()
	}
	switch kind, of := n.KindIn(pkg, classes); kind {
	case alloctrace.Untyped:
		r.name, r.typed, r.line = untyped, false, "op.untyped"
	case alloctrace.MapHeaders:
		r.name, r.typed, r.line = mapHeaders, false, headersLine
	case alloctrace.Boxed:
		r.name, r.typed, r.line = "values of kind "+of+" in interfaces", false, interfaceLine(of)
	case alloctrace.Records:
		r.name, r.typed, r.runtime = "records of the runtime", false, true
	case alloctrace.MapEntries:
		r.name = mapOf(t)
	case alloctrace.Array:
		r.name, r.array = "[]"+naming.TypeName(t), true
	default:
		r.name = naming.TypeName(t)
		if isReference(r.name) {
			r.name = "*" + r.name // a variable, for which the name alone would be that of its array or entries
		}
		if t.Kind() == reflect.Array && t.Name() == "" {
			t = t.Elem()
			r.slice = "[]" + naming.TypeName(t)
		}
	}
	r.tiny = r.typed && r.size < alloctrace.BlockSize && !hasPointers(t)
	if r.typed && strings.Contains(t.Name(), shapePrefix) {
		r.shape = t
	}
	return r
}

// interfaceLine is the path in golden files of values of a kind in interfaces.
func interfaceLine(kind string) string { return "op.interface(" + kind + ")" }

// typeAt returns the type whose descriptor is at an address. Messages have the name of its package
// from now on.
func typeAt(address uintptr) reflect.Type {
	// An interface is the address of its type's descriptor and a pointer to its value, which
	// reflect.TypeOf does not look at (go1.26 reflect/type.go, internal/abi/iface.go).
	value := struct {
		descriptor uintptr
		data       unsafe.Pointer
	}{descriptor: address}
	t := reflect.TypeOf(*(*any)(unsafe.Pointer(&value)))
	naming.LearnType(t)
	return t
}

// mapOf names the map that a group of entries belongs to. A group is a struct whose second field is
// an array of slots, structs of a key and an element.
func mapOf(group reflect.Type) string {
	if group.Kind() == reflect.Struct && group.NumField() == 2 {
		if slots := group.Field(1).Type; slots.Kind() == reflect.Array {
			if slot := slots.Elem(); slot.Kind() == reflect.Struct && slot.NumField() == 2 {
				return "map[" + naming.TypeName(slot.Field(0).Type) + "]" + naming.TypeName(slot.Field(1).Type)
			}
		}
	}
	return "entries of maps"
}

// twin is the row that the objects of r would be in if they were arrays.
func (r *row) twin() *row {
	t := &row{name: "[]" + r.name, typed: r.typed, array: true}
	if r.slice == "" {
		t.shape = r.shape
	}
	return t
}

// reference is the type of a reference to the objects of a row, which selectors match.
func (r *row) reference() string {
	if isReference(r.name) || isReference(strings.TrimPrefix(r.name, "*")) {
		return r.name
	}
	return "*" + r.name
}

// isReference reports whether a name is that of a slice or map type, by which messages call the
// array or the entries.
func isReference(name string) bool {
	return strings.HasPrefix(name, "[]") || strings.HasPrefix(name, "map[")
}
