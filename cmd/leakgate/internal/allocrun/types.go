package allocrun

import (
	"cmp"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/alloccode"
	"github.com/leakgate/leakgate/internal/alloctrace"
)

// A TypeRow is what was allocated of one type.
type TypeRow struct {
	Name    string `json:"name"`              // as Go writes it with packages' names, or what the objects are
	Package string `json:"package,omitempty"` // import path, of a type that has a name
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
	// Error is that of Objects, an estimate: the true number is within it in 19 of 20 cases.
	Error int64 `json:"error,omitempty"`
	// Untyped says that the runtime is not told the type of these objects: Name says what they are.
	Untyped bool `json:"untyped,omitempty"`
	// Records says that these objects are the runtime's own, which it reuses at its discretion.
	Records bool `json:"records,omitempty"`
	// Of are the types of an untyped row's objects, as the code at their calls tells them, the most
	// objects first.
	Of []*SiteType `json:"of,omitempty"`
}

// Rows for objects without a type that the runtime knows, or of no type of the program's.
const (
	untyped    = "(strings, bytes, and other memory that the runtime knows no type of)"
	mapHeaders = "(headers of maps)"
	runtimes   = "(records of the runtime)"
)

// boxed returns the name of the row for values of a kind in interfaces.
func boxed(kind string) string { return "(values of kind " + kind + " in interfaces)" }

// rowsOf sums counts by row, the most objects first.
func rowsOf(counts []*alloctrace.Count, types *alloccode.Types, classes []int64) []*TypeRow {
	of := make(map[[2]string]*TypeRow)
	for _, n := range withThreadsApart(counts, classes) {
		r := kindOf(n, types, classes)
		key := [2]string{r.Name, r.Package}
		if of[key] == nil {
			of[key] = r
		}
		of[key].Objects += n.Objects
		of[key].Bytes += n.Bytes()
	}
	rows := make([]*TypeRow, 0, len(of))
	for _, r := range of {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *TypeRow) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Package, b.Package))
	})
	return rows
}

// kindOf returns an empty row for a count.
func kindOf(n *alloctrace.Count, types *alloccode.Types, classes []int64) *TypeRow {
	pkg := types.Package(uint64(n.Type))
	element := pkg
	switch { // the table has no package of a pointer
	case pkg == "" && strings.HasPrefix(n.Name, "*maps.table"):
		element = "internal/runtime/maps"
	case strings.HasPrefix(n.Name, "*runtime."):
		element = "runtime"
	}
	switch kind, of := n.KindIn(element, classes); kind {
	case alloctrace.Untyped:
		return &TypeRow{Name: untyped, Untyped: true}
	case alloctrace.MapHeaders:
		return &TypeRow{Name: mapHeaders, Untyped: true}
	case alloctrace.Boxed:
		return &TypeRow{Name: boxed(of), Untyped: true}
	case alloctrace.Records:
		return &TypeRow{Name: runtimes, Untyped: true, Records: true}
	case alloctrace.MapEntries:
		return &TypeRow{Name: "map[" + of}
	case alloctrace.Array:
		return &TypeRow{Name: "[]" + n.Name, Package: pkg}
	}
	return &TypeRow{Name: n.Name, Package: pkg}
}
