package twin

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// modules are the two programs' module data, runtime.firstmoduledata, which holds the addresses of
// the variables and functions. ELF and Mach-O files have it in a section of its own, PE files
// somewhere in .data. So its address is that of the twin's symbol, in both programs.
type modules struct {
	orig, twin *objfile.File
	addr       uint64
}

// Offsets in runtime.moduledata (go1.26 and 1.27 runtime/symtab.go), the same in both versions.
const (
	moduleHeader    = 0   // pcHeader
	moduleTable     = 104 // pclntable, a slice
	moduleBounds    = 160 // minpc, maxpc, text, etext
	moduleNoPtrData = 192 // noptrdata, enoptrdata
	moduleData      = 208 // data, edata, and then those of bss and others
	moduleGCData    = 280 // gcdata, gcbss
	moduleBytes     = 296
)

func modulesOf(orig, twin *objfile.File) (*modules, error) {
	const name = "runtime.firstmoduledata"
	s, ok := twin.SymbolNamed(name)
	if !ok {
		return nil, fmt.Errorf("%w: the twin has no symbol %s", ErrDiffers, name)
	}
	m := &modules{orig, twin, s.Addr}
	if orig.At(m.addr, moduleBytes) == nil || twin.At(m.addr, moduleBytes) == nil {
		return nil, fmt.Errorf("%w: the module data are not in the file", ErrDiffers)
	}
	return m, nil
}

// words returns a word of the module data of each program.
func (m *modules) words(offset uint64) (p, q uint64) {
	return pointerAt(m.orig, m.addr+offset), pointerAt(m.twin, m.addr+offset)
}

// sameBounds compares the tables of addresses: where code and variables begin and end.
func (m *modules) sameBounds() error {
	for off := uint64(moduleBounds); off < moduleGCData; off += 8 {
		if p, q := m.words(off); p != q {
			return fmt.Errorf("%w: the module data differ at offset %d", ErrDiffers, off)
		}
	}
	return nil
}

// sameVariables compares the initial values of variables. In the segments with pointers, pointers
// into read-only data may differ.
func (m *modules) sameVariables() error {
	a, b, low, err := m.bothContents(moduleNoPtrData)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("%w: the variables without pointers, from %#x on, start with different values", ErrDiffers, low)
	}
	if a, b, low, err = m.bothContents(moduleData); err != nil {
		return err
	}
	n := len(a) &^ 7
	if !bytes.Equal(a[n:], b[n:]) {
		return fmt.Errorf("%w: the last variables before %#x start with different values", ErrDiffers, low+uint64(len(a)))
	}
	for i := 0; i < n; i += 8 {
		p, q := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		if p != q && !(isReadOnlyData(m.orig, p) && isReadOnlyData(m.twin, q)) {
			return fmt.Errorf("%w: the variables at %#x start with different values", ErrDiffers, low+uint64(i))
		}
	}
	return nil
}

// bothContents returns what both files have between two addresses: the word of the module data at
// offset, and the word after it.
func (m *modules) bothContents(offset uint64) (a, b []byte, low uint64, err error) {
	low, _ = m.words(offset)
	high, _ := m.words(offset + 8)
	if high >= low {
		a, b = m.orig.At(low, high-low), m.twin.At(low, high-low)
	}
	if a == nil || b == nil {
		return nil, nil, 0, fmt.Errorf("%w: its variables between %#x and %#x are not in the file", ErrDiffers, low, high)
	}
	return a, b, low, nil
}

// sameMasks compares the programs that make the collector's pointer masks of data and bss: equal
// masks mean that pointers lie at the same places.
func (m *modules) sameMasks() error {
	for off := uint64(moduleGCData); off < moduleBytes; off += 8 {
		p, q := m.words(off)
		a, b := gcProgram(m.orig.From(p)), gcProgram(m.twin.From(q))
		if a == nil || !bytes.Equal(a, b) {
			return fmt.Errorf("%w: the collector's pointer masks of variables differ", ErrDiffers)
		}
	}
	return nil
}

// pointerAt reads a pointer in the file, which may still await relocation.
func pointerAt(f *objfile.File, addr uint64) uint64 {
	b := f.At(addr, 8)
	if b == nil {
		return 0
	}
	p := binary.LittleEndian.Uint64(b)
	if p == 0 && f.Relocated != nil {
		p = f.Relocated(addr)
	}
	return p
}

// isReadOnlyData reports whether an address lies in data that no program changes, after relocation.
func isReadOnlyData(f *objfile.File, addr uint64) bool {
	for _, s := range f.Sections {
		if s.Flags&objfile.ReadOnly != 0 && s.Has(addr) {
			return true
		}
	}
	return false
}

// gcProgram returns a GC program up to its end, nil if it does not end. An opcode of 0 ends it.
// After an opcode n below 0x80 n bits follow. Other opcodes repeat the last n bits a number of
// times that follows as uvarint; n is in the opcode, or a uvarint before the number if the opcode
// is 0x80 (go1.26 runtime/mbitmap.go, runGCProg).
func gcProgram(b []byte) []byte {
	for rest := b; len(rest) > 0; {
		op := rest[0]
		rest = rest[1:]
		numbers := 1 // of uvarints that follow the opcode
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
