// Package withoutdwarf replaces a program's debug information where there is none. It reads types
// from the type descriptors in the frozen process (internal/abi), has the layouts of the runtime's
// structures in a table, and finds the runtime's variables that the two passes of the model need by
// their contents. Variables, captures, and types without a descriptor have no names here.
//
// An ambiguous result is an error.
package withoutdwarf
