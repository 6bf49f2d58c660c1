// Package objfile reads executables of Go programs in any format: sections, symbols, memory by
// address, and the Go linker's notes. It reads with pread into memory of its own, so a file that is
// truncated or replaced meanwhile gives an error and not a fault.
//
// It reads ELF itself, and anyfile the other formats, so that a test binary on Linux does not link
// their readers; native reads the format of the system. Sections have the names that they have in
// ELF files, and symbols have sizes.
package objfile
