package goruntime

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// maxModules bounds the list of modules (plugins and shared libraries add to it).
const maxModules = 1024

// A Module is a piece of linked Go code with its data and tables (runtime/symtab.go, moduledata).
type Module struct {
	text, etext       uint64
	minpc, maxpc      uint64
	Data, EData       uint64
	BSS, EBSS         uint64
	NoPtrBSS, ENoPtr  uint64
	types, etypes     uint64
	rodata, noPtrData uint64
	gofunc, epclntab  uint64
	DataMask, BSSMask []byte // a bit for each word: may hold a pointer
	funcnames, cutab  []byte
	filetab, pctab    []byte
	pclntable, ftab   []byte
	nftab             int
}

// Code is the range of the module's functions.
func (mod *Module) Code() image.Range { return image.Range{Addr: mod.text, Len: mod.etext - mod.text} }

// loadModules reads the modules, with the memory of their variables or without.
func (m *Model) loadModules(first uint64, withVariables bool) error {
	l := m.fields
	var at rtlayout.Module
	l.Fill(&at)
	if l.Err() != nil {
		return l.Err()
	}
	mem := m.Mem
	for addr := first; addr != 0; addr = mem.U64(addr + uint64(at.Next)) {
		word := func(field uintptr) uint64 { return mem.U64(addr + uint64(field)) }
		// Each module costs memory of its size, so a circular list is detected before a module is
		// read twice.
		if len(m.Modules) == maxModules || m.moduleOfPC(word(at.MinPC)) != nil {
			return errors.New("the list of modules does not end")
		}
		mod := &Module{}
		for _, f := range [...]struct {
			at uintptr
			to *uint64
		}{
			{at.Text, &mod.text},
			{at.TextEnd, &mod.etext},
			{at.MinPC, &mod.minpc},
			{at.MaxPC, &mod.maxpc},
			{at.Data, &mod.Data},
			{at.DataEnd, &mod.EData},
			{at.BSS, &mod.BSS},
			{at.BSSEnd, &mod.EBSS},
			{at.NoPtrBSS, &mod.NoPtrBSS},
			{at.NoPtrBSSEnd, &mod.ENoPtr},
			{at.Types, &mod.types},
			{at.TypesEnd, &mod.etypes},
			{at.ROData, &mod.rodata},
			{at.NoPtrData, &mod.noPtrData},
			{at.GoFunc, &mod.gofunc},
			{at.LinesEnd, &mod.epclntab},
		} {
			*f.to = word(f.at)
		}
		if err := mem.Err(); err != nil {
			return err
		}
		if mod.etext <= mod.text || mod.maxpc <= mod.minpc || mod.EData < mod.Data || mod.EBSS < mod.BSS || mod.etypes < mod.types {
			return fmt.Errorf("the module at number %d has impossible bounds", len(m.Modules))
		}
		// The bulk of the memory that is read over and over: data, bss, types and the function
		// tables.
		slice := func(field uintptr, elem uint64) image.Range {
			return image.Range{Addr: word(field), Len: word(field+8) * elem}
		}
		variables := []image.Range{
			{Addr: mod.Data, Len: mod.EData - mod.Data},
			{Addr: mod.BSS, Len: mod.EBSS - mod.BSS},
		}
		tables := []image.Range{
			{Addr: mod.types, Len: mod.etypes - mod.types},
			slice(at.FuncNames, 1), slice(at.Units, 4), slice(at.Files, 1), slice(at.PCs, 1), slice(at.Lines, 1), slice(at.Funcs, 8),
		}
		if mod.epclntab > mod.gofunc {
			tables = append(tables, image.Range{Addr: mod.gofunc, Len: mod.epclntab - mod.gofunc})
		}
		if withVariables {
			if _, err := loadWhole(mem.Load, variables); err != nil {
				return err
			}
		}
		loaded, err := loadWhole(mem.LoadConstants, tables)
		if err != nil {
			return err
		}
		mod.funcnames, mod.cutab, mod.filetab, mod.pctab, mod.pclntable, mod.ftab = loaded[1], loaded[2], loaded[3], loaded[4], loaded[5], loaded[6]
		mod.nftab = len(mod.ftab) / 8
		if withVariables {
			mod.DataMask = m.mask(addr+uint64(at.DataMaskLen), word(at.DataMask))
			mod.BSSMask = m.mask(addr+uint64(at.BSSMaskLen), word(at.BSSMask))
		}
		m.Modules = append(m.Modules, mod)
	}
	if len(m.Modules) == 0 {
		return errors.New("the program has no module data")
	}
	return mem.Err()
}

// loadWhole loads ranges of a module; each must be readable in its whole length.
func loadWhole(load func([]image.Range) ([][]byte, error), ranges []image.Range) ([][]byte, error) {
	for _, r := range ranges {
		if r.Len > maxTable {
			return nil, fmt.Errorf("a table of %d bytes in the module data is beyond belief", r.Len)
		}
	}
	loaded, err := load(ranges)
	if err != nil {
		return nil, err
	}
	for i, r := range ranges {
		if uint64(len(loaded[i])) != r.Len {
			return nil, fmt.Errorf("%d of %d bytes of the module data at %#x can be read", len(loaded[i]), r.Len, r.Addr)
		}
	}
	return loaded, nil
}

// maxTable bounds a table of a module: no binary that a 64-bit linker makes today has a larger one.
const maxTable = 8 << 30

func (m *Model) mask(length, addr uint64) []byte {
	bits := uint64(m.Mem.U32(length))
	if bits == 0 {
		return nil
	}
	return m.Mem.Bytes(addr, (bits+7)/8)
}

// MaskBit reports whether word i of a bit mask is set; words beyond its end are not.
func MaskBit(mask []byte, i uint64) bool {
	return i>>3 < uint64(len(mask)) && mask[i>>3]>>(i&7)&1 != 0
}

// moduleOfPC returns the module that holds a code address, nil if there is none.
func (m *Model) moduleOfPC(pc uint64) *Module {
	for _, mod := range m.Modules {
		if mod.minpc <= pc && pc < mod.maxpc {
			return mod
		}
	}
	return nil
}

// IsConstant reports whether an address lies among the constants of a module. In programs that are
// position-independent, those with addresses in them lie apart, from the types to the variables
// (cmd/link/internal/ld/data.go, dodata).
func (m *Model) IsConstant(addr uint64) bool {
	for _, mod := range m.Modules {
		apart := mod.types > mod.epclntab
		if mod.types <= addr && addr < mod.etypes || mod.rodata <= addr && addr < mod.epclntab || apart && mod.types <= addr && addr < mod.noPtrData {
			return true
		}
	}
	return false
}

func (m *Model) moduleOfType(addr uint64) *Module {
	for _, mod := range m.Modules {
		if mod.types <= addr && addr < mod.etypes {
			return mod
		}
	}
	return nil
}

func u32at(b []byte, off uint64) (uint32, bool) {
	if off+4 > uint64(len(b)) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b[off:]), true
}
