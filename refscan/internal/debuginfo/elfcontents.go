package debuginfo

import (
	"encoding/binary"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// bytes returns a section's contents: a part of the file, or a decompressed copy.
func (f *elfFile) bytes(s *elfSection) ([]byte, error) {
	if s.Type == sectionNoBits {
		return nil, nil
	}
	if s.Offset > uint64(len(f.data)) || s.Size > uint64(len(f.data))-s.Offset {
		return nil, fmterr.Errorf("section %s lies beyond the end of the file", s.Name)
	}
	b := f.data[s.Offset : s.Offset+s.Size]
	if s.Flags&flagCompressed == 0 {
		return b, nil
	}
	b, err := decompress(b)
	if err != nil {
		return nil, fmterr.Errorf("section %s: %w", s.Name, err)
	}
	return b, nil
}

// decompress unpacks a compressed section: a header with the method and the size, then a zlib stream.
func decompress(b []byte) ([]byte, error) {
	if len(b) < elfChdr {
		return nil, fmterr.Errorf("%w: no compression header", errDamaged)
	}
	method, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[8:])
	if method != compressZlib {
		return nil, fmterr.Errorf("compressed by method %d, only zlib (%d) is supported; link without compression, as -ldflags=-compressdwarf=false does",
			method, compressZlib)
	}
	out, ok := inflate(size, b[elfChdr:])
	if !ok {
		return nil, fmterr.Errorf("%w: it does not decompress to %d bytes", errDamaged, size)
	}
	return out, nil
}

// Symbols returns the symbol table without its first entry, which is none. Names are in the file's memory, which Close unmaps.
func (f *elfFile) Symbols() ([]elfSymbol, error) {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Type == sectionSymtab {
			return f.symbols(s)
		}
	}
	return nil, errNoSymbols
}

func (f *elfFile) symbols(s *elfSection) ([]elfSymbol, error) {
	table, err := f.bytes(s)
	if err != nil {
		return nil, err
	}
	if len(table) == 0 {
		return nil, errNoSymbols
	}
	if len(table)%elfSym != 0 || s.Link == 0 || uint64(s.Link) >= uint64(len(f.Sections)) {
		return nil, fmterr.Errorf("%w: symbol table", errDamaged)
	}
	names, err := f.bytes(&f.Sections[s.Link])
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	out := make([]elfSymbol, 0, len(table)/elfSym-1)
	for b := table[elfSym:]; len(b) > 0; b = b[elfSym:] {
		name, _ := stringAt(names, le.Uint32(b))
		out = append(out, elfSymbol{
			Name: view(name), Kind: b[4] & 0xf, Section: int(le.Uint16(b[6:])), Value: le.Uint64(b[8:]), Size: le.Uint64(b[16:]),
		})
	}
	return out, nil
}
