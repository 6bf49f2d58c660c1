package symbolize

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// demangled returns the name of a function as its C++ or Rust source has it: with template
// arguments, without parameters. The name of a Go assembly function loses the suffix for its
// calling convention (go1.26 cmd/link/internal/ld/symtab.go, mangleABIName). Other names stay as
// they are.
func demangled(name string) string {
	name = strings.TrimSuffix(name, ".abi0")
	return demangle.Filter(name, demangle.NoParams, demangle.NoEnclosingParams, demangle.NoClones)
}

// symbolTable makes a table of the functions in the symbol tables of one program's files. A
// function is as long as its symbol says. Addresses between functions belong to none of them:
// padding, the linkage table, code whose symbols are stripped.
func symbolTable(files ...*elf.File) *rangeTable[string] {
	var functions []function
	for _, f := range files {
		if f == nil {
			continue
		}
		all, _ := f.Symbols() // a stripped file has none
		dynamic, _ := f.DynamicSymbols()
		for _, s := range append(all, dynamic...) {
			if isFunction(f, &s) {
				functions = append(functions, function{s.Name, s.Value, s.Size, elf.ST_BIND(s.Info)})
			}
		}
	}
	slices.SortFunc(functions, function.compare)
	entries := make([]rangeEntry[string], len(functions))
	for i, s := range functions {
		entries[i] = rangeEntry[string]{Lo: s.addr, Hi: max(s.addr, s.addr+s.size), Value: s.name}
	}
	return newRangeTable(entries)
}

// isFunction reports whether a symbol names code. Symbols of assembly code may have no type.
func isFunction(f *elf.File, s *elf.Symbol) bool {
	const indirect = elf.SymType(10) // STT_GNU_IFUNC
	if s.Size == 0 || s.Name == "" || s.Section == elf.SHN_UNDEF || s.Section == elf.SHN_ABS {
		return false
	}
	switch elf.ST_TYPE(s.Info) {
	case elf.STT_FUNC, indirect:
		return true
	case elf.STT_NOTYPE:
		return int(s.Section) < len(f.Sections) && f.Sections[s.Section].Flags&elf.SHF_EXECINSTR != 0
	}
	return false
}

type function struct {
	name       string
	addr, size uint64
	binding    elf.SymBind
}

// compare sorts the better of two names for an address behind the other, since later entries of the
// table win: that of the smaller function, then the global symbol, then the name without leading
// underscores, which mark internal names.
func (s function) compare(o function) int {
	return cmp.Or(
		-cmp.Compare(s.size, o.size),
		cmp.Compare(bindingRank(s.binding), bindingRank(o.binding)),
		-cmp.Compare(underscores(s.name), underscores(o.name)),
		-cmp.Compare(s.name, o.name),
	)
}

func bindingRank(b elf.SymBind) int {
	switch b {
	case elf.STB_GLOBAL:
		return 2
	case elf.STB_WEAK:
		return 1
	}
	return 0
}

// underscores counts the leading underscores of a name, but not that of a mangled name.
func underscores(name string) int {
	if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") {
		return 0
	}
	return len(name) - len(strings.TrimLeft(name, "_"))
}
