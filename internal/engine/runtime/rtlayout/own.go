package rtlayout

import (
	"strings"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// The linker lets packages refer to this variable (go1.26 and 1.27 runtime/symtab.go).
//
//go:linkname lastmoduledatap runtime.lastmoduledatap
var lastmoduledatap unsafe.Pointer

// Words of Module that are at the same place in all supported versions, by their numbers.
const (
	ownText    = 22
	ownTextEnd = 23
	ownData    = 26
	ownTypes   = 37
)

// ownWords are those from TypesEnd on, which differ by Go version.
type ownWords struct{ typesEnd, rodata, linesEnd, next int }

var ownVersions = map[string]ownWords{
	"go1.26.": {typesEnd: 38, rodata: 39, linesEnd: 41, next: 73},
	"go1.27.": {typesEnd: 39, rodata: 42, linesEnd: 44, next: 70},
}

// ownWordsOf returns the places of a Go version's words, and whether they are known: experiments
// may change them.
func ownWordsOf(version string) (words ownWords, ok bool) {
	words, ok = ownVersions[version[:min(len("go1.26."), len(version))]]
	return words, ok && !strings.Contains(version, "X:")
}

// OwnModule returns words of this process's module data, which it reads without debug information.
// The other fields are 0. It returns false if the places of the words are not known in a Go
// version. With plugins, it is the module that came last.
func OwnModule(version string) (m Module, ok bool) {
	at, ok := ownWordsOf(version)
	if !ok {
		return m, false
	}
	word := func(number int) uintptr { return offheap.Word(uintptr(lastmoduledatap) + 8*uintptr(number)) }
	return Module{
		Text: word(ownText), TextEnd: word(ownTextEnd), Data: word(ownData), Types: word(ownTypes),
		TypesEnd: word(at.typesEnd), ROData: word(at.rodata), LinesEnd: word(at.linesEnd), Next: word(at.next),
	}, true
}
