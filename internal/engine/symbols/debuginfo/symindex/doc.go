// Package symindex is the index of what a compiler knows about a Go program. A Program is plain
// data, which package dwarfread produces. An Index has the same in tables that need no decoding,
// and answers questions about it. A Cache keeps indexes between runs, in a folder that many
// processes use at once.
package symindex
