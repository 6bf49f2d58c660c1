// Package elffile reads what is needed of the executable of a Go program: sections, symbols, memory
// by address, and what the Go linker notes. It reads with pread into memory of its own, so that a
// file that is truncated or replaced meanwhile gives an error and not a fault.
package elffile
