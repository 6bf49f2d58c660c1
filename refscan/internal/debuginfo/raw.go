package debuginfo

import "debug/dwarf"

// What one compilation unit says, before references between units are resolved. Offsets are those of
// entries in .debug_info and identify types, functions and variables across units.

type rawUnit struct {
	name      string
	types     []rawType
	globals   []rawGlobal
	funcs     []rawFunc
	abstracts []abstract              // sorted by offset
	files     map[dwarf.Offset]string // declaring file of abstract functions, as far as calls in this unit show it
	err       error
}

type rawType struct {
	off        dwarf.Offset
	alias      dwarf.Offset // not 0: only another name for that type
	name       string
	kind       uint8
	size       int64
	length     int64
	elem, key  dwarf.Offset
	runtime    uint64
	underlying dwarf.Offset // interfaces: runtime.iface or runtime.eface
	fields     []rawField
}

type rawField struct {
	name     string
	offset   int64
	typ      dwarf.Offset
	embedded bool
}

type rawGlobal struct {
	name string
	addr uint64
	typ  dwarf.Offset
}

// abstract is an abstract function (Inline attribute), or a variable of one. Concrete and inlined
// instances refer to them for what does not differ between instances.
type abstract struct {
	off  dwarf.Offset
	name string
	line int
	typ  dwarf.Offset // variables only
}

type rawFunc struct {
	name      string
	origin    dwarf.Offset // the abstract function, if name is empty
	low, high uint64
	file      string
	line      int
	param     dwarf.Offset // type of the first parameter
	locals    []rawLocal
	captures  []rawCapture
	dict      []rawDict
}

// rawDict is a type that shaped code finds in its dictionary.
type rawDict struct {
	index int64
	shape dwarf.Offset
}

type rawLocal struct {
	name   string
	origin dwarf.Offset // the abstract variable, if name is empty
	inline dwarf.Offset // the abstract function that was inlined, 0 if the function itself declares it
	typ    dwarf.Offset
	line   int
	places []Place
}

type rawCapture struct {
	name   string
	typ    dwarf.Offset
	offset int64
}
