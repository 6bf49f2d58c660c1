package debuginfo

import (
	"encoding/binary"
	"sort"
)

// encoder lays out an index file.
type encoder struct {
	tables  [tableCount][]byte
	strings map[string]uint32
	scratch []byte
}

// str returns the place of a string in the string table. Place 0 is the empty string.
func (e *encoder) str(s string) uint32 {
	if s == "" {
		return 0
	}
	if off, ok := e.strings[s]; ok {
		return off
	}
	t := e.tables[tableStrings]
	if uint64(len(t))+uint64(len(s)) > 1<<31 {
		return 0
	}
	off := uint32(len(t))
	t = binary.AppendUvarint(t, uint64(len(s)))
	e.tables[tableStrings] = append(t, s...)
	e.strings[s] = off
	return off
}

//go:noinline // see packNumbers
func (e *encoder) put(table int, words ...uint32) {
	for _, w := range words {
		e.tables[table] = binary.LittleEndian.AppendUint32(e.tables[table], w)
	}
}

//go:noinline // see packNumbers
func (e *encoder) put64(table int, words ...uint64) {
	for _, w := range words {
		e.tables[table] = binary.LittleEndian.AppendUint64(e.tables[table], w)
	}
}

// encode makes the contents of an index.
func (p *program) encode(id identity) []byte {
	e := &encoder{strings: make(map[string]uint32)}
	e.tables[tableStrings] = []byte{0}
	if id.buildID == "" {
		id.buildID = p.elf.buildID()
	}
	if id.goVersion == "" {
		id.goVersion = p.goVersion()
	}
	flags := uint32(0)
	if id.twin {
		flags |= 1
	}
	e.put(tableMeta, e.str(id.goVersion), e.str(id.buildID), flags)
	e.types(p.types[1:])
	e.globals(p.globals)
	for i := range p.funcs {
		e.function(&p.funcs[i])
	}
	for i := range p.elf.Sections {
		s := &p.elf.Sections[i]
		if s.Flags&flagAlloc == 0 {
			continue
		}
		e.put(tableSections, e.str(s.Name), 0)
		e.put64(tableSections, s.Addr, s.Size)
	}
	for _, w := range p.warnings {
		e.put(tableWarnings, e.str(w))
	}
	return e.image()
}

// goVersion is the one in the build information, or failing that what the compiler noted in each unit.
func (p *program) goVersion() string {
	if v, err := p.elf.goVersion(); err == nil {
		return v
	}
	p.warnings = append(p.warnings, "the Go version is unknown: "+errNoBuildInfo.Error())
	return ""
}

func (e *encoder) types(types []Type) {
	fields := uint32(0)
	names := make([]uint32, 0, len(types))
	var hashes []uint32
	for i := range types {
		t := &types[i]
		var flags uint32
		if t.HasMethodsIface {
			flags |= typeHasMethods
		}
		e.put(tableTypes, e.str(t.Name), uint32(t.Kind)|flags<<8)
		e.put64(tableTypes, uint64(t.Size), uint64(t.Len))
		e.put(tableTypes, uint32(t.Elem), uint32(t.Key), fields, uint32(len(t.Fields)))
		e.put64(tableTypes, t.RuntimeAddr)
		e.put(tableTypes, t.RuntimeHash, 0)
		for _, f := range t.Fields {
			ref := uint32(f.Type)
			if f.Embedded {
				ref |= fieldEmbedded
			}
			e.put(tableFields, e.str(f.Name), ref)
			e.put64(tableFields, uint64(f.Offset))
		}
		fields += uint32(len(t.Fields))
		if t.Name != "" {
			names = append(names, uint32(t.ID))
		}
		if t.RuntimeAddr != 0 {
			hashes = append(hashes, uint32(t.ID))
		}
	}
	sort.SliceStable(names, func(i, j int) bool { return types[names[i]-1].Name < types[names[j]-1].Name })
	e.put(tableTypeNames, names...)
	sort.SliceStable(hashes, func(i, j int) bool { return types[hashes[i]-1].RuntimeHash < types[hashes[j]-1].RuntimeHash })
	e.put(tableHashes, hashes...)
}

func (e *encoder) globals(globals []Global) {
	names := make([]uint32, len(globals))
	for i, g := range globals {
		names[i] = uint32(i)
		e.put(tableGlobals, e.str(g.Name), e.str(g.Package), uint32(g.Type), e.str(g.File), uint32(g.Line), 0)
		e.put64(tableGlobals, g.Addr, uint64(g.Size))
	}
	sort.SliceStable(names, func(i, j int) bool { return globals[names[i]].Name < globals[names[j]].Name })
	e.put(tableGlobalNames, names...)
}

func (e *encoder) function(f *progFunc) {
	vars := uint32(0)
	if len(f.locals)+len(f.captures)+len(f.dict) > 0 || f.param != 0 {
		vars = uint32(len(e.tables[tableVars])) + 1
		e.scratch = e.packVariables(e.scratch[:0], f)
		e.tables[tableVars] = append(packNumbers(e.tables[tableVars], uint64(len(e.scratch))), e.scratch...)
	}
	e.put64(tableFuncs, f.Entry)
	size := min(f.End-f.Entry, 1<<32-1)
	e.put(tableFuncs, uint32(size), e.str(f.Name), e.str(f.Package), e.str(f.File), uint32(f.Line), vars)
}

// image joins the tables.
func (e *encoder) image() []byte {
	const align = 8
	size := directorySize
	var offs [tableCount]int
	for i, t := range e.tables {
		size = (size + align - 1) &^ (align - 1)
		offs[i] = size
		size += len(t)
	}
	b := make([]byte, size)
	le := binary.LittleEndian
	for i, t := range e.tables {
		le.PutUint64(b[16*i:], uint64(offs[i]))
		le.PutUint64(b[16*i+8:], uint64(len(t)))
		copy(b[offs[i]:], t)
	}
	return b
}
