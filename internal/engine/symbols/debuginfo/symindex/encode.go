package symindex

import (
	"encoding/binary"
	"reflect"
)

// encoder lays out an index file.
type encoder struct {
	tables  [tableCount][]byte
	strings stringTable
	scratch []byte
	numbers []uint64 // scratch memory of packVariables
}

// str returns the offset of a string in the string table, and adds the string if it is new.
func (e *encoder) str(s string) uint32 { return e.strings.place(s, hash(s)) }

func (e *encoder) put(table int, words ...uint32) {
	for _, w := range words {
		e.tables[table] = binary.LittleEndian.AppendUint32(e.tables[table], w)
	}
}

func (e *encoder) put64(table int, words ...uint64) {
	for _, w := range words {
		e.tables[table] = binary.LittleEndian.AppendUint64(e.tables[table], w)
	}
}

// reserve gives an empty table a capacity of n bytes.
func (e *encoder) reserve(table, n int) { e.tables[table] = make([]byte, 0, n) }

// order writes the ids of records to a table, sorted by key; records with equal keys keep their
// order.
func (e *encoder) order(table int, records []ordered) {
	records = sortedByKey(records)
	e.reserve(table, idRecord*len(records))
	for i := range records {
		e.put(table, records[i].id)
	}
}

// New encodes p as an index in the Go heap.
func New(p *Program) *Index {
	fields, text := 0, 0
	for i := range p.Types {
		fields += len(p.Types[i].Fields)
		text += len(p.Types[i].Name)
	}
	e := &encoder{strings: newStringTable(len(p.Types), text)}
	e.reserve(tableTypes, typeRecord*len(p.Types))
	e.reserve(tableFields, fieldRecord*fields)
	e.put(tableMeta, e.str(p.GoVersion), e.str(p.Identity))
	e.types(p.Types)
	e.globals(p.Globals)
	for i := range p.Functions {
		e.function(&p.Functions[i])
	}
	for _, pkg := range p.Packages {
		e.put(tablePackages, e.str(pkg.Path), e.str(pkg.Name))
	}
	for _, w := range p.Warnings {
		e.put(tableWarnings, e.str(w))
	}
	e.tables[tableStrings] = e.strings.bytes
	return &Index{contents: &contents{tables: e.tables}}
}

// types writes types as records of
//
//	 0  kind (1 byte, with typeHasMethods) and size (7 bytes)
//	 8  name
//	12  element type; of a struct the number of fields
//	16  of a map the type of keys, of an array the length, of a struct the first field (8 bytes)
//	24  address of the descriptor (8 bytes)
//	32  hash in the descriptor
func (e *encoder) types(types []Type) {
	fields := 0
	names := make([]ordered, 0, len(types))
	var hashes []ordered
	for i := range types {
		t := &types[i]
		kind := uint64(t.Kind)
		if t.HasMethodsIface {
			kind |= typeHasMethods
		}
		elem, more := uint32(t.Elem), uint64(t.Key)
		switch t.Kind {
		case reflect.Array:
			more = uint64(t.Len)
		case reflect.Struct:
			elem, more = uint32(len(t.Fields)), uint64(fields)
			fields += len(t.Fields)
			e.fields(t.Fields)
		}
		h := hash(t.Name)
		e.put64(tableTypes, uint64(t.Size)<<8|kind)
		e.put(tableTypes, e.strings.place(t.Name, h), elem)
		e.put64(tableTypes, more, t.RuntimeAddr)
		e.put(tableTypes, t.RuntimeHash)
		if t.Name != "" {
			names = append(names, ordered{h, uint32(i)})
		}
		if t.RuntimeAddr != 0 {
			hashes = append(hashes, ordered{t.RuntimeHash, uint32(t.ID)})
		}
	}
	e.order(tableTypeNames, names)
	e.order(tableHashes, hashes)
}

func (e *encoder) fields(fields []Field) {
	for i := range fields {
		f := &fields[i]
		ref := uint32(f.Type)
		if f.Embedded {
			ref |= fieldEmbedded
		}
		e.put(tableFields, e.str(f.Name), ref)
		e.put64(tableFields, uint64(f.Offset))
	}
}

func (e *encoder) globals(globals []Global) {
	names := make([]ordered, len(globals))
	for i, g := range globals {
		names[i] = ordered{hash(g.Name), uint32(i)}
		e.put(tableGlobals, e.str(g.Name), e.str(g.Package), uint32(g.Type), e.str(g.File), uint32(g.Line), 0)
		e.put64(tableGlobals, g.Addr, uint64(g.Size))
	}
	e.order(tableGlobalNames, names)
}

func (e *encoder) function(f *Function) {
	vars := uint32(0)
	if len(f.Locals)+len(f.Captures)+len(f.Dict) > 0 || f.Param != 0 {
		vars = uint32(len(e.tables[tableVars])) + 1
		e.scratch = e.packVariables(e.scratch[:0], f)
		e.tables[tableVars] = append(packNumbers(e.tables[tableVars], uint64(len(e.scratch))), e.scratch...)
	}
	e.put64(tableFuncs, f.Entry)
	size := min(f.End-f.Entry, 1<<32-1)
	e.put(tableFuncs, uint32(size), e.str(f.Name), e.str(f.Package), e.str(f.File), uint32(f.Line), vars)
}
