// Package objfile reads executables of Go programs in any format: sections, symbols, memory by
// address, and the Go linker's notes. It reads with pread into memory of its own, so a file that is
// truncated or replaced meanwhile gives an error and not a fault.
//
// The packages below it read one format each (elffile, pefile, machofile), so that a test binary
// links only the reader of its own system's format (native); anyfile reads all formats. Sections
// have the names that they have in ELF files, and symbols have sizes.
package objfile
