package allocrun

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/alloccode"
)

// An executable is the file of a program. It is an alloccode.Source.
type executable struct {
	segments []segment
	symbols  []functionSymbol // of functions and dictionaries, by address
}

type segment struct {
	address uint64
	data    []byte
}

type functionSymbol struct {
	address, size uint64
	name          string
}

// dictionary is part of the names of generic functions' dictionaries.
const dictionary = "..dict."

// A Program is a Go executable file. It is not safe for concurrent use.
type program struct {
	code *alloccode.Program
	file *executable
	bias uint64
}

// At returns what a stack allocates, with the type arguments of generic types in its name; false if
// it cannot be told. The parameters are those of alloccode's At.
func (p *program) At(stack []uint64, size int64, classes []int64) (a alloccode.Allocated, ok bool) {
	inFile := make([]uint64, len(stack))
	for i, at := range stack {
		inFile[i] = at - p.bias
	}
	stack = inFile
	a, ok = p.code.At(stack, size, classes)
	if ok {
		a.Name = p.code.Instantiated(a, stack, p.file.dictionaryAt)
	}
	return a, ok
}

// openProgram reads an executable that is loaded with this bias: its addresses in memory, minus the
// bias, are those in the file.
func openProgram(path string, bias uint64) (*program, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if f.Type != elf.ET_EXEC && bias == 0 {
		return nil, errors.New("the executable is position-independent, and where it was loaded is not known")
	}
	e := new(executable)
	for _, s := range f.Sections {
		if s.Addr == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		e.segments = append(e.segments, segment{s.Addr, data})
	}
	if err := e.relocate(f); err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	byName := make(map[string]elf.Symbol)
	for _, s := range symbols {
		byName[s.Name] = s
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC || strings.Contains(s.Name, dictionary) {
			e.symbols = append(e.symbols, functionSymbol{s.Value, s.Size, s.Name})
		}
	}
	slices.SortFunc(e.symbols, func(a, b functionSymbol) int { return cmp.Compare(a.address, b.address) })
	types, err := readTypes(e.memory, byName)
	if err != nil {
		return nil, err
	}
	machine := alloccode.AMD64()
	switch f.Machine {
	case elf.EM_X86_64:
	case elf.EM_AARCH64:
		machine = alloccode.ARM64()
	default:
		return nil, fmt.Errorf("code for %v is not known", f.Machine)
	}
	return &program{alloccode.New(machine, e, types), e, bias}, nil
}

// relative are the relocations of words that point into the program itself, by machine.
var relative = map[elf.Machine]uint32{elf.EM_X86_64: uint32(elf.R_X86_64_RELATIVE), elf.EM_AARCH64: uint32(elf.R_AARCH64_RELATIVE)}

// relocate sets the words of a position-independent program that are addresses to those in the
// file. Their relocations have them; the words may be 0.
func (e *executable) relocate(f *elf.File) error {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err
		}
		for ; len(data) >= relocationSize; data = data[relocationSize:] {
			if uint32(binary.LittleEndian.Uint64(data[8:])) != relative[f.Machine] {
				continue
			}
			if word := e.memory(binary.LittleEndian.Uint64(data), 8); word != nil {
				copy(word, data[16:24])
			}
		}
	}
	return nil
}

const relocationSize = 24 // its address, type, and addend

// memory returns the file's content for an address range, or nil.
func (e *executable) memory(address, size uint64) []byte {
	for _, s := range e.segments {
		if address >= s.address && size <= uint64(len(s.data)) && address-s.address <= uint64(len(s.data))-size {
			return s.data[address-s.address:][:size]
		}
	}
	return nil
}

// Word reads the 8 bytes that the program has at an address when it starts.
func (e *executable) Word(address uint64) (uint64, bool) {
	b := e.memory(address, 8)
	if b == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// symbolAt returns the symbol of the function or dictionary that an address lies in.
func (e *executable) symbolAt(address uint64) functionSymbol {
	i, found := slices.BinarySearchFunc(e.symbols, address, func(s functionSymbol, a uint64) int { return cmp.Compare(s.address, a) })
	if !found {
		i--
	}
	if i < 0 || address >= e.symbols[i].address+e.symbols[i].size {
		return functionSymbol{}
	}
	return e.symbols[i]
}

// NameAt is the name of the function at an address.
func (e *executable) NameAt(address uint64) string { return e.symbolAt(address).name }

// FunctionAt returns the function at an address, and its code.
func (e *executable) FunctionAt(address uint64) (name string, entry uint64, code []byte) {
	s := e.symbolAt(address)
	return s.name, s.address, e.memory(s.address, s.size)
}

// dictionaryAt returns the name of the dictionary at an address.
func (e *executable) dictionaryAt(address uint64) string {
	if s := e.symbolAt(address); strings.Contains(s.name, dictionary) {
		return s.name
	}
	return ""
}
