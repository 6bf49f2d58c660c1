// Package sameprogram compares two executables: whether what the debug information of one says
// about addresses holds for the other.
package sameprogram

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo/elffile"
)

// ErrDiffers is the reason why a twin's debug information cannot be used for a program.
var ErrDiffers = errors.New("it is not the same program")

// Check checks that what the twin's DWARF says about addresses holds for the original: the same
// functions at the same places, with the same code, and the same variables at the same places.
//
// The two are not identical. The linker orders some type descriptors and function tables' data by
// what it has read so far, so symbols of equal size in read-only data trade places (measured on
// go1.26.8 and 1.27.3: some thousand bytes of .rodata or .go.type, some hundred of .gopclntab and
// .text, two of .data). Code and data that refer to those differ; nothing else may.
func Check(orig, twin *elffile.File) error {
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

func sameVersion(orig, twin *elffile.File) error {
	a, errA := orig.GoVersion()
	b, errB := twin.GoVersion()
	if err := errors.Join(errA, errB); err != nil {
		return fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	if a != b || orig.Machine != twin.Machine || orig.Type != twin.Type {
		return fmt.Errorf("%w: %s (machine %d, type %d), and %s (machine %d, type %d)", ErrDiffers, a, orig.Machine, orig.Type, b, twin.Machine, twin.Type)
	}
	return nil
}

// sameLayout compares addresses and sizes of all sections that are loaded. Notes hold build IDs,
// whose length may vary.
func sameLayout(orig, twin *elffile.File) error {
	compared := 0
	for _, a := range orig.Sections {
		if a.Flags&elf.SHF_ALLOC == 0 || a.Type == elf.SHT_NOTE {
			continue
		}
		b := twin.Section(a.Name)
		if b == nil {
			return fmt.Errorf("%w: the twin has no section %s", ErrDiffers, a.Name)
		}
		if a.Addr != b.Addr || a.Size != b.Size {
			return fmt.Errorf("%w: section %s is at %#x with %d bytes in one and at %#x with %d bytes in the other",
				ErrDiffers, a.Name, a.Addr, a.Size, b.Addr, b.Size)
		}
		compared++
	}
	for _, name := range []string{".text", ".data", ".bss", ".go.module"} {
		if orig.Section(name) == nil {
			return fmt.Errorf("%w: there is no section %s to compare", ErrDiffers, name)
		}
	}
	return nil
}

func sameBytes(orig, twin *elffile.File, section string) error {
	a, b, err := bothContents(orig, twin, section)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("%w: the contents of section %s differ", ErrDiffers, section)
	}
	return nil
}

func bothContents(orig, twin *elffile.File, section string) (a, b []byte, err error) {
	a, err = orig.Contents(section)
	if err != nil {
		return nil, nil, err
	}
	b, err = twin.Contents(section)
	if err != nil {
		return nil, nil, err
	}
	if len(a) != len(b) {
		return nil, nil, fmt.Errorf("%w: the sizes of section %s differ", ErrDiffers, section)
	}
	return a, b, nil
}

// sameData compares initialised variables. Pointers into read-only data may differ.
func sameData(orig, twin *elffile.File) error {
	a, b, err := bothContents(orig, twin, ".data")
	if err != nil {
		return err
	}
	n := len(a) &^ 7
	if !bytes.Equal(a[n:], b[n:]) {
		return fmt.Errorf("%w: the contents of section .data differ", ErrDiffers)
	}
	for i := 0; i < n; i += 8 {
		p, q := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		if p != q && !(isReadOnlyData(orig, p) && isReadOnlyData(twin, q)) {
			return fmt.Errorf("%w: the variables at %#x start with different values", ErrDiffers, orig.Section(".data").Addr+uint64(i))
		}
	}
	return nil
}

// isReadOnlyData reports whether an address lies in data that no program changes, after relocation.
func isReadOnlyData(f *elffile.File, addr uint64) bool {
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_EXECINSTR == 0 && addr >= s.Addr && addr-s.Addr < s.Size {
			return s.Flags&elf.SHF_WRITE == 0 || strings.HasPrefix(s.Name, ".data.rel.ro")
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

// sameModule compares the module's tables of addresses and the programs that make the collector's
// pointer masks of data and bss: equal masks mean that pointers lie at the same places.
func sameModule(orig, twin *elffile.File) error {
	a, b, err := bothContents(orig, twin, ".go.module")
	if err != nil {
		return err
	}
	if len(a) < moduleBytes {
		return fmt.Errorf("%w: section .go.module is too short", ErrDiffers)
	}
	le := binary.LittleEndian
	for off := moduleData; off < moduleGCData; off += 8 {
		if le.Uint64(a[off:]) != le.Uint64(b[off:]) {
			return fmt.Errorf("%w: the module data differ at offset %d", ErrDiffers, off)
		}
	}
	base := orig.Section(".go.module").Addr
	for off := uint64(moduleGCData); off < moduleBytes; off += 8 {
		p, q := pointerAt(orig, base+off), pointerAt(twin, base+off)
		progA, progB := gcProgram(orig.From(p)), gcProgram(twin.From(q))
		if progA == nil || !bytes.Equal(progA, progB) {
			return fmt.Errorf("%w: the collector's pointer masks of variables differ", ErrDiffers)
		}
	}
	return nil
}

// relaSize is the size of a relocation with an addend (System V ABI).
const relaSize = 24

// pointerAt reads a pointer in the file, which may still await relocation (PIE linked by the
// system's linker).
func pointerAt(f *elffile.File, addr uint64) uint64 {
	b := f.At(addr, 8)
	if b == nil {
		return 0
	}
	if p := binary.LittleEndian.Uint64(b); p != 0 {
		return p
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		r, err := f.SectionBytes(s)
		if err != nil {
			continue
		}
		for ; len(r) >= relaSize; r = r[relaSize:] { // offset, info, addend
			if binary.LittleEndian.Uint64(r) == addr {
				return binary.LittleEndian.Uint64(r[16:])
			}
		}
	}
	return 0
}

// gcProgram returns a GC program up to its end (go1.26 runtime/mbitmap.go, runGCProg: 0 ends it;
// below 0x80, so many bits follow; else repeat the last n bits, n in the opcode or following as
// uvarint, uvarint times). It is nil if it does not end.
func gcProgram(b []byte) []byte {
	for rest := b; len(rest) > 0; {
		op := rest[0]
		rest = rest[1:]
		numbers := 1 // that follow
		switch {
		case op == 0:
			return b[:len(b)-len(rest)]
		case op < 0x80:
			bits := (int(op) + 7) / 8
			if bits > len(rest) {
				return nil
			}
			rest = rest[bits:]
			continue
		case op == 0x80:
			numbers = 2
		}
		for range numbers {
			_, n := binary.Uvarint(rest)
			if n <= 0 {
				return nil
			}
			rest = rest[n:]
		}
	}
	return nil
}
