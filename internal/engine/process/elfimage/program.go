package elfimage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// A Program is a program file, mapped. It is safe for concurrent use once Relocate was called.
type Program struct {
	BuildID string // Go's, or a hash of the file if it has none
	GOARCH  string
	bias    uint64
	entry   uint64
	text    image.Range // link-time addresses of the section .text
	data    []byte
	loads   []objfile.Segment
}

// OpenProgram maps a program file. It returns an error if the file is no 64-bit little-endian ELF
// executable of amd64 or arm64.
func OpenProgram(path string) (*Program, error) {
	x, err := objfile.OpenELF(path)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	if x.Type != typeExecutable && x.Type != typeShared {
		return nil, fmt.Errorf("%s is no executable, but an ELF file of type %d", path, x.Type)
	}
	f := &Program{BuildID: x.BuildID, GOARCH: x.GOARCH, entry: x.Entry, loads: x.Segments}
	if f.GOARCH == "" {
		return nil, fmt.Errorf("%s is for another processor, of number %d in ELF files; amd64 and arm64 are supported", path, x.Machine)
	}
	if s := x.Section(".text"); s != nil {
		f.text = image.Range{Addr: s.Addr, Len: s.Size}
	}
	if f.data, err = mapFile(path); err != nil {
		return nil, err
	}
	return f, nil
}

// Close removes the mapping: slices that Lend or From returned are invalid from then on.
func (f *Program) Close() error {
	b := f.data
	if f.data = nil; b == nil {
		return nil
	}
	return unmap(b)
}

// Bias is the difference between the program's addresses in memory and in the file, see Relocate.
func (f *Program) Bias() uint64 { return f.bias }

// Text is the address range of the program's code in memory.
func (f *Program) Text() image.Range { return image.Range{Addr: f.text.Addr + f.bias, Len: f.text.Len} }

// The kinds of words of the auxiliary vector that Relocate reads (uapi/linux/auxvec.h).
const (
	auxPhdr  = 3
	auxPhnum = 5
	auxEntry = 9
)

// Relocate finds the bias by a process's auxiliary vector. As far as the process's memory allows,
// it checks that this is the process's file: that it has the build ID of the loaded program. read
// returns memory of the process, nil if it cannot be read.
func (f *Program) Relocate(auxv []byte, read func(addr, n uint64) []byte) error {
	words := make(map[uint64]uint64)
	for i := 0; i+16 <= len(auxv); i += 16 {
		words[binary.LittleEndian.Uint64(auxv[i:])] = binary.LittleEndian.Uint64(auxv[i+8:])
	}
	entry, ok := words[auxEntry]
	if !ok {
		return errors.New("the auxiliary vector of the process does not say where its program begins")
	}
	f.bias = entry - f.entry
	if f.bias%4096 != 0 {
		return &OtherProgramError{}
	}
	if id := loadedBuildID(words[auxPhdr], words[auxPhnum], f.bias, read); id != "" && id != f.BuildID {
		return &OtherProgramError{File: f.BuildID, Process: id}
	}
	return nil
}

// OtherProgramError says that a file is not the program that the process runs.
type OtherProgramError struct {
	File, Process string // build IDs; "" if something else shows the difference
}

// Error implements error.
func (e *OtherProgramError) Error() string {
	if e.File == "" {
		return "the file is not the program of the process: its code lies elsewhere"
	}
	return fmt.Sprintf("the file is not the program of the process: its build ID is %q, and that of the process %q", e.File, e.Process)
}

// loadedBuildID finds Go's build ID in a process's memory, by the program headers whose address the
// kernel gave to the program. It returns "" if the build ID is not there.
func loadedBuildID(at, count, bias uint64, read func(addr, n uint64) []byte) string {
	const size, maxHeaders, maxNote = 56, 64, 1 << 12
	if at == 0 || count == 0 || count > maxHeaders {
		return ""
	}
	b := read(at, count*size)
	for ; len(b) >= size; b = b[size:] {
		if binary.LittleEndian.Uint32(b) != segmentOfNotes {
			continue
		}
		addr, n := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[40:])
		if n <= maxNote {
			if id := objfile.NoteBuildID(read(addr+bias, n)); id != "" {
				return id
			}
		}
	}
	return ""
}

// Lend returns memory that the program has loaded from the file and cannot write to, nil for other
// memory.
func (f *Program) Lend(r image.Range) []byte {
	for _, p := range f.loads {
		lo := p.Addr + f.bias
		if !p.Writable && lo <= r.Addr && r.Addr < r.End() && r.End() <= lo+p.FileSize && p.Offset+p.FileSize <= uint64(len(f.data)) {
			return f.data[p.Offset+r.Addr-lo:][:r.Len:r.Len]
		}
	}
	return nil
}

// From returns at most n bytes of the program from the file, nil if no byte at addr comes from the
// file. The process may have written to this memory since.
func (f *Program) From(addr, n uint64) []byte {
	for _, p := range f.loads {
		lo := p.Addr + f.bias
		if lo <= addr && addr < lo+p.FileSize && p.Offset+p.FileSize <= uint64(len(f.data)) {
			n = min(n, lo+p.FileSize-addr)
			return f.data[p.Offset+addr-lo:][:n:n]
		}
	}
	return nil
}
