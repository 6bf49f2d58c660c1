package dwarfread

import "github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"

// The data of one compilation unit, before references between units are resolved. Offsets are those
// of entries in .debug_info and identify types, functions and variables across units.

type rawUnit struct {
	name      string     // the package's import path
	pkg       string     // the package's name
	types     []rawType  // sorted by offset
	fields    []rawField // of all types, in their order
	globals   []rawGlobal
	funcs     []rawFunc
	abstracts []abstract // sorted by offset
	// by abstract function: the file that declares it, as far as calls in this unit reveal it
	files map[dieOffset]string
	err   error
}

type rawType struct {
	off        dieOffset
	alias      dieOffset // not 0: this entry is only another name for the type there
	name       string
	kind       uint8
	size       int64
	length     int64
	elem, key  dieOffset
	runtime    uint64
	underlying dieOffset // interfaces: runtime.iface or runtime.eface
	fields     int       // how many of the unit's fields are this type's
}

type rawField struct {
	name     string
	offset   int64
	typ      dieOffset
	embedded bool
}

type rawGlobal struct {
	name string
	addr uint64
	typ  dieOffset
}

// abstract is an abstract function (Inline attribute), or a variable of one. Concrete and inlined
// instances refer to it for attributes that are the same in all instances.
type abstract struct {
	off  dieOffset
	name string
	line int
	typ  dieOffset // variables only
}

type rawFunc struct {
	name      string
	origin    dieOffset // the abstract function, if name is empty
	low, high uint64
	file      string
	line      int
	param     dieOffset // type of the first parameter
	locals    []rawLocal
	captures  []rawCapture
	dict      []rawDict
	wrapper   bool      // the compiler made it for what it calls
	inlined   dieOffset // wrappers: the abstract function that was inlined as that call, if any
}

// rawDict is a type that shaped code finds in its dictionary.
type rawDict struct {
	index int64
	shape dieOffset
}

type rawLocal struct {
	name   string
	origin dieOffset // the abstract variable, if name is empty
	inline dieOffset // the abstract function that was inlined, 0 if the function itself declares it
	typ    dieOffset
	line   int
	places []symindex.Place
	block  []span
}

type rawCapture struct {
	name   string
	typ    dieOffset
	offset int64
}
