package dwarfread

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/symbol"
)

// resolver combines the data of all units and of the symbol table into a symindex.Program.
type resolver struct {
	file     *objfile.File
	units    []*rawUnit
	places   typePlaces
	origins  []abstract // of all units, sorted by offset
	files    map[dieOffset]string
	types    []symindex.Type // by TypeID; [0] is no type
	pointers []bool          // by TypeID: values may hold pointers
	globals  []symindex.Global
	funcs    []symindex.Function // sorted by entry
	packages []symindex.Package
	warnings []string
}

func resolve(f *objfile.File, units []*rawUnit) *symindex.Program {
	p := &resolver{
		file:  f,
		units: units,
		files: make(map[dieOffset]string),
	}
	damaged := 0
	for _, u := range units {
		if u.err != nil {
			if damaged++; damaged == 1 {
				p.warnings = append(p.warnings, fmt.Sprintf("debug information is incomplete: %v", u.err))
			}
		}
		p.origins = append(p.origins, u.abstracts...)
		for fn, file := range u.files {
			p.files[fn] = file
		}
		if path := symbol.Unescape(u.name); u.pkg != "" && u.pkg != symbol.LastElement(path) {
			p.packages = append(p.packages, symindex.Package{Path: path, Name: u.pkg})
		}
	}
	if damaged > 1 {
		p.warnings = append(p.warnings, fmt.Sprintf("debug information is incomplete: %d more units could not be read", damaged-1))
	}
	// Units are in the file's order, and so are the entries in each, unless the file is damaged.
	byOffset := func(i, j int) bool { return p.origins[i].off < p.origins[j].off }
	if !sort.SliceIsSorted(p.origins, byOffset) {
		sort.SliceStable(p.origins, byOffset)
	}
	p.resolveTypes()
	p.findPointers()
	syms, err := f.Symbols()
	if err != nil {
		p.warnings = append(p.warnings, fmt.Sprintf("no symbol table (%v): compiler-made variables have no names; link without -s", err))
	}
	p.readDescriptors(syms)
	p.collectGlobals(syms)
	p.collectFuncs(syms)
	version, err := f.GoVersion()
	if err != nil {
		p.warnings = append(p.warnings, "the Go version is unknown: "+err.Error())
	}
	return &symindex.Program{
		GoVersion: version, Identity: f.Identity(),
		Types: p.types[1:], Globals: p.globals, Functions: p.funcs, Packages: p.packages, Warnings: p.warnings,
	}
}

func (p *resolver) origin(off dieOffset) *abstract {
	i := sort.Search(len(p.origins), func(i int) bool { return p.origins[i].off >= off })
	if i == len(p.origins) || p.origins[i].off != off {
		return nil
	}
	return &p.origins[i]
}

func (p *resolver) resolveTypes() {
	entries, fields := 0, 0
	layouts := make(map[dieOffset]string) // of interfaces
	for _, u := range p.units {
		entries += len(u.types)
		fields += len(u.fields)
		for i := range u.types {
			if t := &u.types[i]; t.name == "runtime.iface" || t.name == "runtime.eface" {
				layouts[t.off] = t.name
			}
		}
	}
	p.places.reserve(entries)
	for _, u := range p.units {
		for i := range u.types {
			p.places.add(u.types[i].off, u.types[i].alias)
		}
	}
	p.places.complete()
	p.types = make([]symindex.Type, 1, p.places.types+1)
	all := make([]symindex.Field, 0, fields)
	for _, u := range p.units {
		rest := u.fields
		for i := range u.types {
			raw := &u.types[i]
			own := rest[:raw.fields]
			rest = rest[raw.fields:]
			if raw.alias != 0 {
				continue
			}
			first := len(all)
			for j := range own {
				f := &own[j]
				all = append(all, symindex.Field{
					Name:     symbol.Unescape(f.name),
					Offset:   f.offset,
					Type:     p.typeID(f.typ),
					Embedded: f.embedded,
				})
			}
			kind := reflect.Kind(raw.kind)
			p.types = append(p.types, symindex.Type{
				ID:              symindex.TypeID(len(p.types)),
				Name:            symbol.Unescape(raw.name),
				Kind:            kind,
				Size:            raw.size,
				Len:             raw.length,
				Elem:            p.typeID(raw.elem),
				Key:             p.typeID(raw.key),
				Fields:          all[first:len(all):len(all)],
				RuntimeAddr:     raw.runtime,
				HasMethodsIface: kind == reflect.Interface && layouts[raw.underlying] == "runtime.iface",
			})
		}
	}
}

func (p *resolver) typeID(off dieOffset) symindex.TypeID { return p.places.find(off) }

// findPointers records for each type whether its values may hold pointers.
func (p *resolver) findPointers() {
	const (
		unknown = iota
		visiting
		no
		yes
	)
	state := make([]uint8, len(p.types))
	var visit func(id symindex.TypeID, depth int) bool
	visit = func(id symindex.TypeID, depth int) bool {
		switch state[id] {
		case no, visiting: // a type that contains itself by value exists in damaged data only
			return false
		case yes:
			return true
		}
		state[id] = visiting
		t := &p.types[id]
		has := false
		switch t.Kind {
		case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
			reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		case reflect.Array:
			has = t.Len != 0 && (depth > maxNesting || visit(t.Elem, depth+1))
		case reflect.Struct:
			for _, f := range t.Fields {
				if depth > maxNesting || visit(f.Type, depth+1) {
					has = true
					break
				}
			}
		case reflect.Invalid:
			has = id != 0
		default:
			has = true
		}
		state[id] = no
		if has {
			state[id] = yes
		}
		return has
	}
	p.pointers = make([]bool, len(p.types))
	for id := range p.types {
		p.pointers[id] = visit(symindex.TypeID(id), 0)
	}
}

// maxNesting bounds the nesting of structs and arrays: a type nested deeper is taken to hold
// pointers. It keeps damaged data from exhausting the stack.
const maxNesting = 1000

// collectGlobals joins DWARF's variables with the symbols of the data segments that DWARF does not
// name.
func (p *resolver) collectGlobals(syms []objfile.Symbol) {
	type place struct {
		addr uint64
		name string
	}
	known := make(map[place]bool)
	for _, u := range p.units {
		for _, g := range u.globals {
			id := p.typeID(g.typ)
			name := symbol.Unescape(g.name)
			if known[place{g.addr, name}] {
				continue
			}
			known[place{g.addr, name}] = true
			p.globals = append(p.globals, symindex.Global{
				Name: name, Package: symbol.Package(g.name), Addr: g.addr, Size: p.types[id].Size, Type: id,
			})
		}
	}
	for _, s := range syms {
		if s.Kind != objfile.Object || s.Size == 0 || s.Section == nil || s.Section.Flags&objfile.Variables == 0 {
			continue
		}
		name := symbol.Unescape(s.Name)
		if known[place{s.Addr, name}] {
			continue
		}
		p.globals = append(p.globals, symindex.Global{Name: name, Package: symbol.Package(s.Name), Addr: s.Addr, Size: int64(s.Size)})
	}
	sort.SliceStable(p.globals, func(i, j int) bool {
		a, b := &p.globals[i], &p.globals[j]
		if a.Addr != b.Addr {
			return a.Addr < b.Addr
		}
		return a.Name < b.Name
	})
}

// collectFuncs resolves functions and their variables, and adds functions that only the symbol
// table has.
func (p *resolver) collectFuncs(syms []objfile.Symbol) {
	all := 0
	for _, u := range p.units {
		all += len(u.funcs)
	}
	const fromAssembly = 1 << 8 // estimated number of functions that only the symbol table has
	p.funcs = make([]symindex.Function, 0, all+fromAssembly)
	for _, u := range p.units {
		for i := range u.funcs {
			p.funcs = append(p.funcs, p.function(&u.funcs[i]))
		}
	}
	byEntry := func(i, j int) bool { return p.funcs[i].Entry < p.funcs[j].Entry }
	sort.SliceStable(p.funcs, byEntry)
	n := len(p.funcs)
	covered := func(addr uint64) bool {
		i := sort.Search(n, func(i int) bool { return p.funcs[i].Entry > addr })
		return i > 0 && addr < p.funcs[i-1].End
	}
	for _, s := range syms {
		if s.Kind != objfile.Function || s.Size == 0 || s.Addr == 0 || s.Addr+s.Size < s.Addr || covered(s.Addr) {
			continue
		}
		p.funcs = append(p.funcs, symindex.Function{Func: symindex.Func{
			Name: symbol.Unescape(s.Name), Package: symbol.Package(s.Name), Entry: s.Addr, End: s.Addr + s.Size,
		}})
	}
	sort.SliceStable(p.funcs, byEntry)
	p.funcs = firstOfEach(p.funcs)
	p.shareDictionaries()
}

// shareDictionaries gives each function of shaped code the types of its dictionary: function
// literals use the dictionary of the declared function that they stand in (go1.26
// cmd/compile/internal/noder/reader.go, funcLit).
func (p *resolver) shareDictionaries() {
	all := make(map[string][]symindex.DictType)
	for i := range p.funcs {
		if f := &p.funcs[i]; len(f.Dict) > 0 {
			name := declaredName(f.Name)
			all[name] = append(all[name], f.Dict...)
			if _, dict := methodOf(f.Package, name); dict != name {
				all[dict] = append(all[dict], f.Dict...)
			}
		}
	}
	for i := range p.funcs {
		if f := &p.funcs[i]; symbol.IsShaped(f.Name) {
			f.Dict = all[declaredName(f.Name)]
		}
	}
	p.captureReceivers(all)
}

// declaredName returns the name of the declared function: it cuts off the suffix that the compiler
// appends to the name of a generic function for the function literals and range bodies in it, such
// as ".func1.2" and "-range1".
func declaredName(name string) string {
	i := strings.LastIndexByte(name, ']') + 1
	if j := strings.Index(name[i:], ".func"); j >= 0 {
		return name[:i+j]
	}
	if j := strings.IndexByte(name[i:], '-'); j >= 0 {
		return name[:i+j]
	}
	return name
}

// firstOfEach drops functions that have the same entry as the function before them.
func firstOfEach(sorted []symindex.Function) []symindex.Function {
	kept := sorted[:0]
	for i := range sorted {
		if i == 0 || sorted[i].Entry != kept[len(kept)-1].Entry {
			kept = append(kept, sorted[i])
		}
	}
	return kept
}

func (p *resolver) function(raw *rawFunc) symindex.Function {
	f := symindex.Function{Func: symindex.Func{Entry: raw.low, End: raw.high, File: raw.file, Line: raw.line}}
	name := raw.name
	if o := p.origin(raw.origin); name == "" && o != nil {
		name, f.Line = o.name, o.line
		if file := p.files[raw.origin]; file != "" {
			f.File = file
		}
	}
	f.Name, f.Package = symbol.Unescape(name), symbol.Package(name)
	if o := p.origin(raw.param); o != nil {
		raw.param = o.typ
	}
	f.Param = p.typeID(raw.param)
	for _, d := range raw.dict {
		if id := p.typeID(d.shape); id != 0 && d.index >= 0 {
			f.Dict = append(f.Dict, symindex.DictType{Index: uint32(d.index), Shape: id})
		}
	}
	for i := range raw.locals {
		if l, ok := p.local(&raw.locals[i], f.File); ok {
			f.Locals = append(f.Locals, l)
		}
	}
	for _, c := range raw.captures {
		name, id, byRef := p.variable(c.name, p.typeID(c.typ))
		if name == ".this" {
			name = symindex.ReceiverName
		}
		f.Captures = append(f.Captures, symindex.Capture{Name: name, Type: id, Offset: c.offset, ByRef: byRef})
	}
	sort.SliceStable(f.Captures, func(i, j int) bool { return f.Captures[i].Offset < f.Captures[j].Offset })
	return f
}

// local resolves a variable; false if it cannot hold pointers or its abstract variable is missing.
func (p *resolver) local(raw *rawLocal, file string) (symindex.Local, bool) {
	name, typ, line := raw.name, raw.typ, raw.line
	if raw.origin != 0 {
		o := p.origin(raw.origin)
		if o == nil {
			return symindex.Local{}, false
		}
		name, typ, line = o.name, o.typ, o.line
	}
	id := p.typeID(typ)
	if !p.pointers[id] {
		return symindex.Local{}, false
	}
	size := p.types[id].Size
	l := symindex.Local{Line: line, File: file, Ranges: raw.places, Block: raw.block}
	l.Name, l.Type, l.Deref = p.variable(name, id)
	if raw.inline != 0 {
		l.File = p.files[raw.inline]
		if o := p.origin(raw.inline); o != nil {
			l.Inline = symbol.Unescape(o.name)
		}
	}
	for i := range l.Ranges {
		if l.Ranges[i].Size == wholeVariable {
			l.Ranges[i].Size = size
		}
	}
	return l, true
}

// variable undoes the compiler's naming of variables that moved to the heap: "&x" of type *T is x
// of type T, by reference.
func (p *resolver) variable(name string, id symindex.TypeID) (string, symindex.TypeID, bool) {
	if rest, ok := strings.CutPrefix(name, "&"); ok && p.types[id].Kind == reflect.Pointer {
		return rest, p.types[id].Elem, true
	}
	return name, id, false
}
