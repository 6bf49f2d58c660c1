// Package dwarfread reads the debug information of Go programs (DWARF 4 and 5, as cmd/compile and
// cmd/link write it) into plain data.
//
// debug/dwarf reads entries, too, but takes three to four times as long and 1.4 million allocations
// for the go command (BenchmarkEntries, go1.26.8), since it makes a list of fields and an interface
// for each entry. Users wait for this in the first assertion of each new test binary.
package dwarfread
