package symindex

import (
	"maps"
	"reflect"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/symbol"
)

// An Index answers questions about one program. Lookups are safe for concurrent use and cost a
// binary search at most; results are decoded on demand. Strings in results share the index's
// memory: they are valid until Free, which is for tests.
type Index struct {
	*contents
	source string
	extra  []string // warnings of this opening, in addition to those stored

	globals atomic.Pointer[[]Global]
}

// Opened returns an index that shares the contents of x and reports the given source (see Source)
// and the given warnings in addition to the stored ones. From then on symbol.Package knows the
// program's packages.
func (x *Index) Opened(source string, warnings []string) *Index {
	symbol.Learn(slices.Collect(maps.Keys(x.PackageNames()))...)
	return &Index{contents: x.contents, source: source, extra: warnings}
}

// Free releases the memory of an index that was read from a file. The index and the strings in its
// results must not be used after that.
func (x *Index) Free() {
	if x.free != nil {
		x.free()
	}
}

// GoVersion is the version of the toolchain that built the program, such as "go1.26.8".
func (x *Index) GoVersion() string { return x.meta(0) }

// Identity is what no other program has: the build ID of the go command, or a hash of the file.
func (x *Index) Identity() string { return x.meta(4) }

// Source says what this opening read: "own" for the program's own DWARF, "twin" for that of a twin
// built for it, "cache" for an index stored earlier.
func (x *Index) Source() string { return x.source }

// Warnings says what could not be read or stored, one sentence each.
func (x *Index) Warnings() []string {
	var out []string
	for i := range x.count(tableWarnings) {
		out = append(out, x.str(u32(x.record(tableWarnings, i), 0)))
	}
	return append(out, x.extra...)
}

func (x *Index) meta(off int) string {
	if x.count(tableMeta) == 0 {
		return ""
	}
	return x.str(u32(x.record(tableMeta, 0), off))
}

// PackageNames maps import paths to package names, for the packages whose name is not the last
// element of their path: "github.com/patrickmn/go-cache" to "cache".
func (x *Index) PackageNames() map[string]string {
	names := make(map[string]string, x.count(tablePackages))
	for i := range x.count(tablePackages) {
		r := x.record(tablePackages, i)
		names[x.str(u32(r, 0))] = x.str(u32(r, 4))
	}
	return names
}

// NumTypes is the number of types; TypeIDs are 1 to NumTypes.
func (x *Index) NumTypes() int { return x.count(tableTypes) }

// Bits and offsets in the records of types, fields and variables.
const (
	typeKind       = 1<<5 - 1
	typeHasMethods = 1 << 7
	typeName       = 8 // offset of the name
	globalName     = 0
	fieldEmbedded  = 1 << 31
)

// Type returns the type with an id, or the zero Type if there is none. It allocates only the slice
// of fields, for structs.
//
//go:norace
func (x *Index) Type(id TypeID) Type {
	t := x.TypeHead(id)
	if t.Kind != reflect.Struct {
		return t
	}
	r := x.record(tableTypes, int(id)-1)
	n, first := uint64(u32(r, 12)), u64(r, 16)
	if all := uint64(x.count(tableFields)); n == 0 || first > all || n > all-first {
		return t
	}
	t.Fields = make([]Field, n)
	for i := range t.Fields {
		r := x.record(tableFields, int(first)+i)
		t.Fields[i] = Field{
			Name:     x.str(u32(r, 0)),
			Type:     x.knownType(u32(r, 4) &^ fieldEmbedded),
			Embedded: u32(r, 4)&fieldEmbedded != 0,
			Offset:   int64(u64(r, 8)),
		}
	}
	return t
}

// TypeHead is Type without the fields: it allocates nothing.
//
//go:norace
func (x *Index) TypeHead(id TypeID) Type {
	if id == 0 || int64(id) > int64(x.count(tableTypes)) {
		return Type{}
	}
	r := x.record(tableTypes, int(id)-1)
	t := Type{
		ID:              id,
		Name:            x.str(u32(r, typeName)),
		Kind:            reflect.Kind(r[0] & typeKind),
		HasMethodsIface: r[0]&typeHasMethods != 0,
		Size:            int64(u64(r, 0) >> 8),
		RuntimeAddr:     u64(r, 24),
		RuntimeHash:     u32(r, 32),
	}
	switch t.Kind {
	case reflect.Struct:
		return t
	case reflect.Array:
		t.Len = int64(u64(r, 16))
	case reflect.Map:
		t.Key = x.knownType(u32(r, 16))
	}
	t.Elem = x.knownType(u32(r, 12))
	return t
}

func (x *Index) knownType(id uint32) TypeID {
	if int64(id) > int64(x.count(tableTypes)) {
		return 0
	}
	return TypeID(id)
}

// TypeByName finds a type by its name in DWARF, import paths spelled out: "runtime.mheap",
// "*example.com/app.Session".
func (x *Index) TypeByName(name string) (TypeID, bool) {
	i, ok := x.named(tableTypeNames, tableTypes, typeName, name)
	return TypeID(i + 1), ok
}

// named returns the index of the first record of table with a name. The table order lists the
// records sorted by the hash of their names; at is the offset of the name in a record.
func (x *Index) named(order, table, at int, name string) (int, bool) {
	nameOf := func(i int) (string, int) {
		record := int(u32(x.record(order, i), 0))
		if record >= x.count(table) {
			return "", -1
		}
		return x.str(u32(x.record(table, record), at)), record
	}
	wanted, n := hash(name), x.count(order)
	i := sort.Search(n, func(i int) bool {
		found, _ := nameOf(i)
		return hash(found) >= wanted
	})
	for ; i < n; i++ {
		found, record := nameOf(i)
		if found == name {
			return record, record >= 0 && name != ""
		}
		if hash(found) != wanted {
			break
		}
	}
	return -1, false
}

// TypesByHash returns the types whose run-time descriptors have that hash (abi.Type.Hash). Hashes
// are 32 bits wide, so there may be several; tell them apart by name.
func (x *Index) TypesByHash(hash uint32) []TypeID {
	n := x.count(tableHashes)
	i := sort.Search(n, func(i int) bool { return x.typeHash(u32(x.record(tableHashes, i), 0)) >= hash })
	var out []TypeID
	for ; i < n; i++ {
		id := x.knownType(u32(x.record(tableHashes, i), 0))
		if id == 0 || x.typeHash(uint32(id)) != hash {
			break
		}
		out = append(out, id)
	}
	return out
}

func (x *Index) typeHash(id uint32) uint32 {
	if x.knownType(id) == 0 {
		return 0
	}
	return u32(x.record(tableTypes, int(id)-1), 32)
}

// Globals returns all package variables and named symbols of the data segments, by address. The
// slice is decoded once and shared: do not change it.
func (x *Index) Globals() []Global {
	if known := x.globals.Load(); known != nil {
		return *known
	}
	globals := make([]Global, x.count(tableGlobals))
	for i := range globals {
		globals[i] = x.global(i)
	}
	x.globals.CompareAndSwap(nil, &globals)
	return *x.globals.Load()
}

func (x *Index) global(i int) Global {
	r := x.record(tableGlobals, i)
	return Global{
		Name:    x.str(u32(r, globalName)),
		Package: x.str(u32(r, 4)),
		Type:    x.knownType(u32(r, 8)),
		File:    x.str(u32(r, 12)),
		Line:    int(u32(r, 16)),
		Addr:    u64(r, 24),
		Size:    int64(u64(r, 32)),
	}
}

// GlobalByName finds a package variable or symbol: "example.com/app.sessions".
func (x *Index) GlobalByName(name string) (Global, bool) {
	i, ok := x.named(tableGlobalNames, tableGlobals, globalName, name)
	if !ok {
		return Global{}, false
	}
	return x.global(i), true
}

// FuncByPC finds the function whose code holds pc.
func (x *Index) FuncByPC(pc uint64) (Func, bool) {
	i, ok := x.funcAt(pc)
	if !ok {
		return Func{}, false
	}
	return x.fn(i), true
}

func (x *Index) funcAt(pc uint64) (int, bool) {
	i := sort.Search(x.count(tableFuncs), func(i int) bool { return u64(x.record(tableFuncs, i), 0) > pc }) - 1
	if i < 0 {
		return 0, false
	}
	r := x.record(tableFuncs, i)
	return i, pc-u64(r, 0) < uint64(u32(r, 8))
}

func (x *Index) fn(i int) Func {
	r := x.record(tableFuncs, i)
	entry := u64(r, 0)
	return Func{
		Entry:   entry,
		End:     entry + uint64(u32(r, 8)),
		Name:    x.str(u32(r, 12)),
		Package: x.str(u32(r, 16)),
		File:    x.str(u32(r, 20)),
		Line:    int(u32(r, 24)),
	}
}
