// Package symbols is the wing that reads executables. In goes a program's file, out comes what its
// compiler and linker knew: functions, variables and types from DWARF, as an index that is cached
// (debuginfo), sections and symbols in ELF, Mach-O and PE (objfile), and the file's segments as
// memory (execfile).
//
// It uses memory.
package symbols
