// Package dwarfread reads the debug information of Go programs (DWARF 4 and 5, as cmd/compile and
// cmd/link write it) into plain data.
//
// debug/dwarf reads entries, too, but makes a list of fields and an interface for each entry: with
// it, the index of a binary takes 1.5 to 1.6 times as long, six times the allocations, and 110 KB
// more of each test binary (go1.26.8). Users wait for the index in the first assertion of each new
// test binary. Its SkipChildren recurses, so that damaged input can end the process.
package dwarfread
