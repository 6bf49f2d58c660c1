package allocsite

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Program is a Go executable file. It is not safe for concurrent use.
type Program struct {
	types     *Types
	machine   elf.Machine
	segments  []segment
	symbols   []symbol // of functions and dictionaries, by address
	functions map[uint64]*function
	arguments []place
}

type segment struct {
	address uint64
	data    []byte
}

type symbol struct {
	address, size uint64
	name          string
}

// Open reads an executable that is loaded where its file says: one that is not position-independent.
func Open(path string) (*Program, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	p := &Program{machine: f.Machine, functions: make(map[uint64]*function)}
	switch f.Machine {
	case elf.EM_X86_64:
		p.arguments = amd64Arguments
	case elf.EM_AARCH64:
		p.arguments = arm64Arguments
	default:
		return nil, fmt.Errorf("code for %v is not known", f.Machine)
	}
	if f.Type != elf.ET_EXEC {
		return nil, errors.New("the executable is position-independent")
	}
	for _, s := range f.Sections {
		if s.Addr == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		p.segments = append(p.segments, segment{s.Addr, data})
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	byName := make(map[string]elf.Symbol)
	for _, s := range symbols {
		byName[s.Name] = s
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC || strings.Contains(s.Name, dictionary) {
			p.symbols = append(p.symbols, symbol{s.Value, s.Size, s.Name})
		}
	}
	slices.SortFunc(p.symbols, func(a, b symbol) int { return cmp.Compare(a.address, b.address) })
	p.types, err = ReadTypes(f, byName)
	return p, err
}

// memory returns what the file has for so many bytes at an address, or nil.
func (p *Program) memory(address, size uint64) []byte {
	for _, s := range p.segments {
		if address >= s.address && size <= uint64(len(s.data)) && address-s.address <= uint64(len(s.data))-size {
			return s.data[address-s.address:][:size]
		}
	}
	return nil
}

func (p *Program) word(address uint64) (uint64, bool) {
	b := p.memory(address, 8)
	if b == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// symbolAt returns the symbol whose function or dictionary an address lies in.
func (p *Program) symbolAt(address uint64) (symbol, bool) {
	i, found := slices.BinarySearchFunc(p.symbols, address, func(s symbol, a uint64) int { return cmp.Compare(s.address, a) })
	if !found {
		i--
	}
	if i < 0 || address >= p.symbols[i].address+p.symbols[i].size {
		return symbol{}, false
	}
	return p.symbols[i], true
}

// nameAt is the name of the function at an address, "" if there is none.
func (p *Program) nameAt(address uint64) string {
	s, _ := p.symbolAt(address)
	return s.name
}

// functionAt decodes the function that an address lies in; nil if that is not possible.
func (p *Program) functionAt(address uint64) *function {
	s, ok := p.symbolAt(address)
	if !ok {
		return nil
	}
	if f := p.functions[s.address]; f != nil {
		return f
	}
	code := p.memory(s.address, s.size)
	var f *function
	if p.machine == elf.EM_X86_64 {
		f = newFunction(s.name, s.address, decodeAMD64(s.address, code), amd64DX)
	} else {
		f = newFunction(s.name, s.address, decodeARM64(s.address, code), arm64Context)
	}
	p.functions[s.address] = f
	return f
}

// preserves reports whether a function leaves all registers as they are.
func (p *Program) preserves(target uint64) bool {
	return target != 0 && strings.HasPrefix(p.nameAt(target), "runtime.gcWriteBarrier")
}

// neverReturns reports whether a function of the runtime only ever panics.
func (p *Program) neverReturns(target uint64) bool {
	if target == 0 {
		return false
	}
	name, ok := strings.CutPrefix(p.nameAt(target), "runtime.")
	return ok && (strings.HasPrefix(name, "panic") || strings.HasPrefix(name, "goPanic") || name == "gopanic" || name == "throw" || name == "fatalthrow")
}
