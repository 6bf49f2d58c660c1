// Package objfile is the executable of a Go program, whatever its format: sections, symbols, memory
// by address, and what the Go linker notes. It reads with pread into memory of its own, so that a
// file that is truncated or replaced meanwhile gives an error and not a fault.
//
// The packages below it read one format each (elffile, pefile, machofile), so that a test binary
// links only that of its own system (native); anyfile reads them all. Sections have the names that
// they have in ELF files, and symbols have sizes.
package objfile
