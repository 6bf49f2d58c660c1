// Package withoutdwarf stands in for a program's debug information where that cannot be had: it knows
// the types that the frozen process describes to itself (internal/abi type descriptors), the
// layouts of the runtime's structures from a table, and the runtime's variables that the two passes
// of the model need, which it finds by what they hold. Variables, captures and types that the
// linker kept no descriptor of have no names here.
//
// What cannot be told beyond doubt is an error.
package withoutdwarf
