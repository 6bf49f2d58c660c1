package objfile

import (
	"encoding/binary"
	"errors"
	"sort"
	"strings"
)

// ErrNoSymbols is the error for a file without a symbol table.
var ErrNoSymbols = errors.New("no symbol section")

// A Symbol names a function or a variable.
type Symbol struct {
	Name       string
	Addr, Size uint64 // at link time; size 0 for a mark that is no function or variable
	Section    *Section
	Kind       Kind
}

// Kind is the kind of thing that a symbol names.
type Kind uint8

// Kinds of symbols.
const (
	OtherSymbol Kind = iota
	Function
	Object
)

// Symbols returns the symbol table, ErrNoSymbols if the file has none. It is read once and shared:
// do not change it.
func (f *File) Symbols() ([]Symbol, error) {
	f.symbols.Do(func() { f.symbols.list, f.symbols.err = f.ReadSymbols() })
	return f.symbols.list, f.symbols.err
}

// SymbolNamed returns a symbol by its name.
func (f *File) SymbolNamed(name string) (Symbol, bool) {
	list, _ := f.Symbols()
	for i := range list {
		if list[i].Name == name {
			return list[i], true
		}
	}
	return Symbol{}, false
}

// SizeSymbols sets the sizes of symbols, for formats that have none, and sorts the list by address.
// A symbol extends up to the next one or the end of its section, but not beyond the known size of
// its kind, since data without symbols may follow. The linker's marks keep size 0.
func (f *File) SizeSymbols(list []Symbol) {
	sort.SliceStable(list, func(i, j int) bool { return list[i].Addr < list[j].Addr })
	next := uint64(0) // the lowest address above that of the symbol
	for i := len(list) - 1; i >= 0; i-- {
		s := &list[i]
		if i+1 < len(list) && list[i+1].Addr > s.Addr {
			next = list[i+1].Addr
		}
		end := s.Section.Addr + s.Section.Size
		if next > s.Addr {
			end = min(end, next)
		}
		if s.Section.Has(s.Addr) && !marks[s.Name] {
			s.Size = min(end-s.Addr, f.knownSize(s))
		}
	}
}

// knownSize returns the size of a symbol that the compiler made, if its kind or the file tells it,
// else the largest uint64. Variables are not covered, since debug information has their sizes.
func (f *File) knownSize(s *Symbol) uint64 {
	const word = 8
	count := uint64(0)
	switch {
	case strings.Contains(s.Name, "..typeAssert."): // internal/abi.TypeAssert
		return 3 * word
	case strings.Contains(s.Name, "..interfaceSwitch."): // internal/abi.InterfaceSwitch: Cache, NCases, Cases
		if b := f.At(s.Addr+word, word); b != nil {
			count = binary.LittleEndian.Uint64(b)
		}
		return 2*word + min(count, s.Section.Size/word)*word
	case strings.HasSuffix(s.Name, "..inittask"): // runtime.initTask: state, nfns, addresses
		if b := f.At(s.Addr+word/2, word/2); b != nil {
			count = uint64(binary.LittleEndian.Uint32(b))
		}
		return word + count*word
	}
	return 1<<64 - 1
}

// marks are the symbols that the linker puts at the beginnings and ends of things (go1.26 and 1.27
// cmd/link/internal/ld/data.go, address, and symtab.go, symtab). In ELF files they have no size.
var marks = map[string]bool{
	"runtime.text": true, "runtime.etext": true, "runtime.rodata": true, "runtime.erodata": true,
	"runtime.types": true, "runtime.etypes": true, "runtime.itablink": true, "runtime.eitablink": true,
	"runtime.symtab": true, "runtime.esymtab": true, "runtime.pclntab": true, "runtime.epclntab": true,
	"runtime.noptrdata": true, "runtime.enoptrdata": true, "runtime.data": true, "runtime.edata": true,
	"runtime.noptrbss": true, "runtime.enoptrbss": true, "runtime.bss": true, "runtime.ebss": true,
	"runtime.covctrs": true, "runtime.ecovctrs": true, "runtime.end": true,
	"go:buildid": true,
}
