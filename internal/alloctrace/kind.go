package alloctrace

import "strings"

// A Kind is the purpose of objects, as far as the type that the runtime is given shows it.
type Kind int

// The kinds.
const (
	Untyped    Kind = iota // the runtime is not given the type
	MapHeaders             // the parts of maps besides their entries
	Boxed                  // a value in an interface, of a type that the runtime is not given
	Records                // records of the runtime that it keeps for later use
	MapEntries             // a group of a map's entries
	Array                  // several objects of the type
	Single                 // one object of the type
)

// kept are the types of records of goroutines, threads and the like, which the runtime keeps for
// the next one: when it makes more is its decision (go1.26, go1.27: runtime/proc.go, panic.go,
// pinner.go). Its other objects belong to what a program calls, such as make(chan T).
var kept = map[string]bool{
	"g": true, "m": true, "mPadded": true, "p": true, "sudog": true, "_defer": true, "pinner": true, "cgoCallers": true,
}

// KindIn returns the kind of a count's objects. pkg is the import path of the package that declares
// the type, or the type that an unnamed pointer points to. For Boxed, of is the kind of the value,
// such as "uint64". For MapEntries, it has the types of key and element, such as "string]int", as
// the trace has them. Else it is "".
func (c *Count) KindIn(pkg string, classes []int64) (k Kind, of string) {
	boxed, isBox := strings.CutSuffix(c.Name, "InterfacePtr")
	// go1.26 cmd/compile/internal/reflectdata/map.go
	group, isGroup := strings.CutPrefix(strings.TrimPrefix(c.Name, "noalg."), "map.group[")
	switch {
	case c.Type == 0:
		return Untyped, ""
	case pkg == "internal/runtime/maps":
		return MapHeaders, ""
	case isBox && strings.HasPrefix(c.Name, "runtime."):
		// go1.26, go1.27 runtime/iface.go: convT16 to convTslice are not given the type.
		return Boxed, strings.TrimPrefix(boxed, "runtime.")
	case pkg == "runtime" && kept[strings.TrimPrefix(strings.TrimPrefix(c.Name, "*"), "runtime.")], strings.HasPrefix(pkg, "internal/runtime/"):
		return Records, ""
	case isGroup:
		return MapEntries, group
	case c.Size > SizeOf(c.TypeSize, classes):
		return Array, ""
	}
	return Single, ""
}
