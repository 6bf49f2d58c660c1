package debuginfo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// errDiffers is the reason why a twin's debug information cannot be used for a program.
var errDiffers = errors.New("it is not the same program")

// sameProgram checks that what the twin's DWARF says about addresses holds for the original: the same
// functions at the same places, with the same code, and the same variables at the same places.
//
// The two are not identical. The linker orders some type descriptors and function tables' data by what it has read so far, so symbols of
// equal size in read-only data trade places (measured on go1.26.8 and 1.27.3: some thousand bytes of .rodata or .go.type, some
// hundred of .gopclntab and .text, two of .data). Code and data that refer to those differ; nothing else may.
func sameProgram(orig, twin *elfFile) error {
	if err := sameVersion(orig, twin); err != nil {
		return err
	}
	if err := sameLayout(orig, twin); err != nil {
		return err
	}
	if err := sameBytes(orig, twin, ".noptrdata"); err != nil {
		return err
	}
	if err := sameModule(orig, twin); err != nil {
		return err
	}
	if err := sameData(orig, twin); err != nil {
		return err
	}
	if err := sameFunctions(orig, twin); err != nil {
		return err
	}
	return sameCode(orig, twin)
}

func sameVersion(orig, twin *elfFile) error {
	a, errA := orig.goVersion()
	b, errB := twin.goVersion()
	if err := errors.Join(errA, errB); err != nil {
		return fmterr.Errorf("%w: %w", errDiffers, err)
	}
	if a != b || orig.Machine != twin.Machine || orig.Type != twin.Type {
		return fmterr.Errorf("%w: %s (machine %d, type %d), and %s (machine %d, type %d)", errDiffers, a, orig.Machine, orig.Type, b, twin.Machine, twin.Type)
	}
	return nil
}

// sameLayout compares addresses and sizes of all sections that are loaded. Notes hold build IDs, whose length may vary.
func sameLayout(orig, twin *elfFile) error {
	compared := 0
	for i := range orig.Sections {
		a := &orig.Sections[i]
		if a.Flags&flagAlloc == 0 || a.Type == sectionNote {
			continue
		}
		b := twin.Section(a.Name)
		if b == nil {
			return fmterr.Errorf("%w: the twin has no section %s", errDiffers, a.Name)
		}
		if a.Addr != b.Addr || a.Size != b.Size {
			return fmterr.Errorf("%w: section %s is at %#x with %d bytes in one and at %#x with %d bytes in the other",
				errDiffers, a.Name, a.Addr, a.Size, b.Addr, b.Size)
		}
		compared++
	}
	for _, name := range []string{".text", ".data", ".bss", ".go.module"} {
		if orig.Section(name) == nil {
			return fmterr.Errorf("%w: there is no section %s to compare", errDiffers, name)
		}
	}
	return nil
}

func sameBytes(orig, twin *elfFile, section string) error {
	a, b, err := bothContents(orig, twin, section)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmterr.Errorf("%w: the contents of section %s differ", errDiffers, section)
	}
	return nil
}

func bothContents(orig, twin *elfFile, section string) (a, b []byte, err error) {
	a, err = orig.contents(section)
	if err != nil {
		return nil, nil, err
	}
	b, err = twin.contents(section)
	if err != nil {
		return nil, nil, err
	}
	if len(a) != len(b) {
		return nil, nil, fmterr.Errorf("%w: the sizes of section %s differ", errDiffers, section)
	}
	return a, b, nil
}

// sameData compares initialised variables. Pointers into read-only data may differ.
func sameData(orig, twin *elfFile) error {
	a, b, err := bothContents(orig, twin, ".data")
	if err != nil {
		return err
	}
	n := len(a) &^ 7
	if !bytes.Equal(a[n:], b[n:]) {
		return fmterr.Errorf("%w: the contents of section .data differ", errDiffers)
	}
	for i := 0; i < n; i += 8 {
		p, q := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		if p != q && !(orig.isReadOnlyData(p) && twin.isReadOnlyData(q)) {
			return fmterr.Errorf("%w: the variables at %#x start with different values", errDiffers, orig.Section(".data").Addr+uint64(i))
		}
	}
	return nil
}

// isReadOnlyData reports whether an address lies in data that no program changes, after relocation.
//
//go:noinline
func (f *elfFile) isReadOnlyData(addr uint64) bool {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&flagAlloc != 0 && s.Flags&flagExec == 0 && addr >= s.Addr && addr-s.Addr < s.Size {
			return s.Flags&flagWrite == 0 || strings.HasPrefix(s.Name, ".data.rel.ro")
		}
	}
	return false
}

// Offsets in runtime.moduledata (go1.26 and 1.27 runtime/symtab.go): equal up to here in both.
const (
	moduleData   = 208 // data, edata, bss, ebss
	moduleGCData = 280 // gcdata, gcbss
	moduleBytes  = 296
)

// sameModule compares the module's tables of addresses and the programs that make the collector's pointer
// masks of data and bss: equal masks mean that pointers lie at the same places.
func sameModule(orig, twin *elfFile) error {
	a, b, err := bothContents(orig, twin, ".go.module")
	if err != nil {
		return err
	}
	if len(a) < moduleBytes {
		return fmterr.Errorf("%w: section .go.module is too short", errDiffers)
	}
	le := binary.LittleEndian
	for off := moduleData; off < moduleGCData; off += 8 {
		if le.Uint64(a[off:]) != le.Uint64(b[off:]) {
			return fmterr.Errorf("%w: the module data differ at offset %d", errDiffers, off)
		}
	}
	base := orig.Section(".go.module").Addr
	for off := uint64(moduleGCData); off < moduleBytes; off += 8 {
		p, q := orig.pointerAt(base+off), twin.pointerAt(base+off)
		progA, progB := gcProgram(orig.from(p)), gcProgram(twin.from(q))
		if progA == nil || !bytes.Equal(progA, progB) {
			return fmterr.Errorf("%w: the collector's pointer masks of variables differ", errDiffers)
		}
	}
	return nil
}

// pointerAt reads a pointer in the file, which may still await relocation (PIE linked by the system's linker).
func (f *elfFile) pointerAt(addr uint64) uint64 {
	b := f.at(addr, 8)
	if b == nil {
		return 0
	}
	if p := binary.LittleEndian.Uint64(b); p != 0 {
		return p
	}
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != sectionRela || s.Flags&flagAlloc == 0 {
			continue
		}
		r, err := f.bytes(s)
		if err != nil {
			continue
		}
		for ; len(r) >= elfRela; r = r[elfRela:] { // offset, info, addend
			if binary.LittleEndian.Uint64(r) == addr {
				return binary.LittleEndian.Uint64(r[16:])
			}
		}
	}
	return 0
}

// from returns the file's bytes from an address to the end of its segment.
func (f *elfFile) from(addr uint64) []byte {
	for _, p := range f.Segments {
		if p.Type == segmentLoad && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return f.at(addr, p.Filesz-(addr-p.Vaddr))
		}
	}
	return nil
}

// gcProgram returns a GC program up to its end (go1.26 runtime/mbitmap.go, runGCProg: 0 ends it; below 0x80, so many
// bits follow; else repeat the last n bits, n in the opcode or following as uvarint, uvarint times). It is nil if it does not end.
func gcProgram(b []byte) []byte {
	c := cursor{b: b}
	for !c.bad {
		switch op := c.u8(); {
		case c.bad:
		case op == 0:
			return b[:len(b)-len(c.b)]
		case op < 0x80:
			c.take((int(op) + 7) / 8)
		default:
			if op == 0x80 {
				c.uleb()
			}
			c.uleb()
		}
	}
	return nil
}
