package symindex

import "reflect"

// TypeID names a type of a program: the first is 1. The zero TypeID means "no type".
type TypeID uint32

// Type is a type, as the compiler laid it out.
//
// Kind follows package reflect. Named types keep the kind of their underlying type, as in reflect.
// For strings, slices, interfaces, maps, channels and funcs the layout is the language's, not
// spelled out in Fields.
type Type struct {
	ID TypeID
	// with full import paths: "example.com/app.Session", "map[string]*example.com/app.Session"
	Name   string
	Kind   reflect.Kind
	Size   int64
	Elem   TypeID // pointer, slice, array, channel, map value; for funcs 0
	Key    TypeID // map key
	Len    int64  // array
	Fields []Field

	// RuntimeAddr is the address of the type's run-time descriptor (abi.Type) in the indexed file,
	// 0 if the linker kept none; RuntimeHash is abi.Type.Hash read from there. A twin's descriptors
	// may lie at other addresses than the running binary's, so go by hash and name.
	RuntimeAddr uint64
	RuntimeHash uint32

	// HasMethodsIface is only meaningful for interfaces: false for those without methods (eface
	// layout).
	HasMethodsIface bool
}

// Field is a field of a struct type.
type Field struct {
	Name     string
	Offset   int64
	Type     TypeID
	Embedded bool
}

// Global is a package-level variable, or a symbol of the data segments that DWARF does not name
// (compiler-made, such as "pkg..stmp_3"; Type is 0 then and Size is the symbol's).
type Global struct {
	Name    string // "example.com/app.sessions"
	Package string // import path
	Addr    uint64 // link-time address
	Size    int64
	Type    TypeID
	File    string // of the declaration; "" if unknown
	Line    int
}

// Func is a function with its own code.
type Func struct {
	Name       string
	Package    string
	Entry, End uint64 // link-time addresses
	File       string
	Line       int
}

// Local is a variable, parameter or result that has a place in its function's frame, at the
// program counters of Ranges. Variables of inlined functions are listed with the function whose
// frame holds them. Of functions in test files, the variables that are in registers only are
// listed, too, without Ranges.
type Local struct {
	Name   string // "srv"; a variable that escaped ("&x" in DWARF) has the name "x" and Deref set
	Type   TypeID // of the variable itself, so with Deref the slot holds a pointer to a Type
	Deref  bool   // the slot holds a pointer to the variable, which lives on the heap
	Inline string // the inlined function that declares it, "" if the function itself does
	File   string
	Line   int
	Ranges []Place
	Block  []Span // the code that may use it; nil: the whole function, or a function in no test file
}

// Span is a range of program counters: link-time addresses, High exclusive.
type Span struct{ Low, High uint64 }

// Place says where (a part of) a variable lies for a range of program counters.
type Place struct {
	Low, High uint64 // link-time addresses, High exclusive; both 0: everywhere in the function
	CFAOffset int64  // of the piece's first byte, relative to the canonical frame address
	VarOffset int64  // which byte of the variable that is
	Size      int64  // of the piece in bytes
}

// DictType says which word of a shaped function's dictionary leads to the run-time type that the
// shape type Shape stands for in that instantiation.
type DictType struct {
	Index uint32
	Shape TypeID
}

// Capture is a variable that a closure object holds.
type Capture struct {
	Name   string
	Type   TypeID // of the variable itself, so with ByRef the slot holds a pointer to a Type
	Offset int64  // in the closure object; the code pointer is at 0
	ByRef  bool   // the slot holds a pointer to the variable
}

// Function is a function with its first parameter, local variables, captures and dictionary.
type Function struct {
	Func
	Param    TypeID // of the first parameter, 0 if it has none
	Locals   []Local
	Captures []Capture
	Dict     []DictType
}

// Package is a package whose name is not the last element of its import path.
type Package struct {
	Path string // "github.com/patrickmn/go-cache"
	Name string // "cache"
}

// Program is all data about one program.
type Program struct {
	GoVersion string // of the toolchain that built it, such as "go1.26.8"
	Identity  string // that no other program has (package objfile)

	Types     []Type     // by TypeID - 1
	Globals   []Global   // sorted by address
	Functions []Function // sorted by entry
	Packages  []Package  // in the file's order
	Warnings  []string   // what could not be read, one sentence each
}

// ReceiverName is the name that Capture has for the receiver in the closure of a method value.
const ReceiverName = "$recv"
