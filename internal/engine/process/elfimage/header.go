package elfimage

import (
	"encoding/binary"
	"errors"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// Numbers of the ELF format (System V ABI): types of files and of segments. Package debug/elf has
// them, too, and brings package debug/dwarf into each test binary.
const (
	typeExecutable = 2 // ET_EXEC
	typeShared     = 3 // ET_DYN
	typeCore       = 4 // ET_CORE

	segmentLoaded  = 1 // PT_LOAD
	segmentOfNotes = 4 // PT_NOTE
)

// A segment is what a core file has of memory, or notes.
type segment struct {
	kind                      uint32
	offset, addr, size, whole uint64 // whole is the size in memory
}

// A header is what the beginning of a 64-bit little-endian ELF file says.
type header struct {
	kind     uint16
	machine  uint16
	segments []segment
}

var errNotELF = errors.New("it does not begin as a 64-bit little-endian ELF file does")

// readHeader reads the header of an ELF file with its table of segments.
func readHeader(b []byte) (*header, error) {
	const size = 56
	if len(b) < 64 || string(b[:len(objfile.ELFMagic)]) != objfile.ELFMagic {
		return nil, errNotELF
	}
	word := binary.LittleEndian.Uint64
	h := &header{kind: binary.LittleEndian.Uint16(b[16:]), machine: binary.LittleEndian.Uint16(b[18:])}
	table, n := word(b[32:]), uint64(binary.LittleEndian.Uint16(b[56:]))
	if each := binary.LittleEndian.Uint16(b[54:]); n > 0 && each != size {
		return nil, errors.New("its segments have headers of another size")
	}
	if end := headersEnd(b); end > uint64(len(b)) || end < table {
		return nil, &TruncatedError{end, uint64(len(b))}
	}
	for p := b[table:]; n > 0; n, p = n-1, p[size:] {
		h.segments = append(h.segments, segment{binary.LittleEndian.Uint32(p), word(p[8:]), word(p[16:]), word(p[32:]), word(p[40:])})
	}
	return h, nil
}

// headersEnd returns the end of the table of segments of an ELF file.
func headersEnd(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b[32:]) + uint64(binary.LittleEndian.Uint16(b[54:]))*uint64(binary.LittleEndian.Uint16(b[56:]))
}
