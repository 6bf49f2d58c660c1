package goruntime

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
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
	rodata            uint64
	gofunc, epclntab  uint64
	DataMask, BSSMask []byte // a bit for each word: may hold a pointer
	funcnames, cutab  []byte
	filetab, pctab    []byte
	pclntable, ftab   []byte
	pclntableAddr     uint64
	nftab             int
}

// Code is the range of the module's functions.
func (mod *Module) Code() image.Range { return image.Range{Addr: mod.text, Len: mod.etext - mod.text} }

func (m *Model) loadModules(first uint64) error {
	l := m.fields
	const md = "runtime.moduledata"
	var (
		oMinpc           = l.Offset(md, "minpc")
		oNames, oCutab   = l.Offset(md, "funcnametab"), l.Offset(md, "cutab")
		oFiles, oPctab   = l.Offset(md, "filetab"), l.Offset(md, "pctab")
		oPcln, oFtab     = l.Offset(md, "pclntable"), l.Offset(md, "ftab")
		oDmask, oBmask   = l.Offset(md, "gcdatamask"), l.Offset(md, "gcbssmask")
		oNext            = l.Offset(md, "next")
		oBitN, oBitBytes = l.Offset("runtime.bitvector", "n"), l.Offset("runtime.bitvector", "bytedata")
	)
	if l.Err() != nil {
		return l.Err()
	}
	mem := m.Mem
	for addr := first; addr != 0; addr = mem.U64(addr + oNext) {
		// Each module costs memory of its size, so a circular list is detected before a module is
		// read twice.
		if len(m.Modules) == maxModules || m.moduleOfPC(mem.U64(addr+oMinpc)) != nil {
			return errors.New("the list of modules does not end")
		}
		mod := &Module{}
		for _, f := range [...]struct {
			field string
			to    *uint64
		}{
			{"text", &mod.text},
			{"etext", &mod.etext},
			{"minpc", &mod.minpc},
			{"maxpc", &mod.maxpc},
			{"data", &mod.Data},
			{"edata", &mod.EData},
			{"bss", &mod.BSS},
			{"ebss", &mod.EBSS},
			{"noptrbss", &mod.NoPtrBSS},
			{"enoptrbss", &mod.ENoPtr},
			{"types", &mod.types},
			{"etypes", &mod.etypes},
			{"rodata", &mod.rodata},
			{"gofunc", &mod.gofunc},
			{"epclntab", &mod.epclntab},
		} {
			*f.to = mem.U64(addr + l.Offset(md, f.field))
		}
		if err := cmp.Or(l.Err(), mem.Err()); err != nil {
			return err
		}
		if mod.etext <= mod.text || mod.maxpc <= mod.minpc || mod.EData < mod.Data || mod.EBSS < mod.BSS || mod.etypes < mod.types {
			return fmt.Errorf("the module at number %d has impossible bounds", len(m.Modules))
		}
		// The bulk of the memory that is read over and over: data, bss, types and the function
		// tables.
		slice := func(off uint64, elem uint64) image.Range {
			return image.Range{Addr: mem.U64(addr + off), Len: mem.U64(addr+off+8) * elem}
		}
		variables := []image.Range{
			{Addr: mod.Data, Len: mod.EData - mod.Data},
			{Addr: mod.BSS, Len: mod.EBSS - mod.BSS},
		}
		tables := []image.Range{
			{Addr: mod.types, Len: mod.etypes - mod.types},
			slice(oNames, 1), slice(oCutab, 4), slice(oFiles, 1), slice(oPctab, 1), slice(oPcln, 1), slice(oFtab, 8),
		}
		if mod.epclntab > mod.gofunc {
			tables = append(tables, image.Range{Addr: mod.gofunc, Len: mod.epclntab - mod.gofunc})
		}
		if _, err := loadWhole(mem.Load, variables); err != nil {
			return err
		}
		loaded, err := loadWhole(mem.LoadConstants, tables)
		if err != nil {
			return err
		}
		mod.funcnames, mod.cutab, mod.filetab, mod.pctab, mod.pclntable, mod.ftab = loaded[1], loaded[2], loaded[3], loaded[4], loaded[5], loaded[6]
		mod.pclntableAddr = tables[5].Addr
		mod.nftab = len(mod.ftab) / 8
		mod.DataMask = m.mask(addr+oDmask, oBitN, oBitBytes)
		mod.BSSMask = m.mask(addr+oBmask, oBitN, oBitBytes)
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

func (m *Model) mask(addr, oN, oBytes uint64) []byte {
	bits := uint64(uint32(m.Mem.U32(addr + oN)))
	if bits == 0 {
		return nil
	}
	return m.Mem.Bytes(m.Mem.U64(addr+oBytes), (bits+7)/8)
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
