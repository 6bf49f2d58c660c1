package elfimage

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// Notes of a core file (elf(5), uapi/linux/elf.h) that readNotes reads. The notes of further
// registers follow their thread's status note.
const (
	noteStatus = 1 // NT_PRSTATUS
	noteFloat  = 2 // NT_PRFPREG
	noteAuxv   = 6 // NT_AUXV
	noteXState = 0x202
)

// Offsets in a prstatus of the thread ID and of the general registers, in bytes.
const (
	statusTID       = 32
	statusRegisters = 112
)

var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// A Core is an opened core file, an image.Source and image.Lender. It is safe for concurrent use.
// Memory that it hands out is valid until Close.
type Core struct {
	Threads []goruntime.Thread
	exe     *Program
	data    []byte
	loads   []elf.ProgHeader // by address
}

// TruncatedError says that a core file is shorter than its headers say.
type TruncatedError struct{ Want, Have uint64 }

// Error implements error.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("the core file is truncated: it says that it has %d bytes, and has %d", e.Want, e.Have)
}

// OpenCore opens a core file of the program exe. Close of the result does not close exe. Open
// returns an error if the file is truncated, is of another program or architecture, or lacks
// registers.
func OpenCore(path string, exe *Program) (_ *Core, err error) {
	c := &Core{exe: exe}
	if c.data, err = mapFile(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	x, err := elf.NewFile(bytes.NewReader(c.data))
	if err != nil {
		if want := headersEnd(c.data); want > uint64(len(c.data)) {
			return nil, &TruncatedError{want, uint64(len(c.data))}
		}
		return nil, fmt.Errorf("it is no core file: %w", err)
	}
	goarch, ok := machines[x.Machine]
	switch {
	case x.Type != elf.ET_CORE:
		return nil, fmt.Errorf("it is no core file, but %v", x.Type)
	case x.Class != elf.ELFCLASS64 || x.Data != elf.ELFDATA2LSB || !ok:
		return nil, fmt.Errorf("it is a core file of %v; amd64 and arm64 are supported", x.Machine)
	case goarch != exe.GOARCH:
		return nil, fmt.Errorf("it is a core file of %s, and the program of %s", goarch, exe.GOARCH)
	case len(x.Progs) == 0xffff:
		return nil, errors.New("the core file has more than 65,534 mappings, which is not supported")
	}
	var notes []elf.ProgHeader
	end := uint64(0)
	for _, p := range x.Progs {
		switch p.Type {
		case elf.PT_LOAD:
			c.loads = append(c.loads, p.ProgHeader)
		case elf.PT_NOTE:
			notes = append(notes, p.ProgHeader)
		}
		if p.Off+p.Filesz < p.Off {
			return nil, errors.New("a segment of the core file has impossible bounds")
		}
		end = max(end, p.Off+p.Filesz)
	}
	if end > uint64(len(c.data)) {
		return nil, &TruncatedError{end, uint64(len(c.data))}
	}
	sort.Slice(c.loads, func(i, j int) bool { return c.loads[i].Vaddr < c.loads[j].Vaddr })
	var auxv []byte
	for _, p := range notes {
		if a := c.readNotes(c.data[p.Off:][:p.Filesz], goruntime.RegisterLayouts[goarch]); a != nil {
			auxv = a
		}
	}
	switch {
	case len(c.Threads) == 0:
		return nil, errors.New("the core file has no registers of threads (NT_PRSTATUS)")
	case auxv == nil:
		return nil, errors.New("the core file has no auxiliary vector (NT_AUXV), so where the program was loaded is not known")
	}
	return c, exe.Relocate(auxv, c.inOneSegment)
}

// headersEnd returns the end of the program headers of an ELF file, 0 if b is no ELF file.
func headersEnd(b []byte) uint64 {
	if len(b) < 64 || string(b[:4]) != elf.ELFMAG {
		return 0
	}
	return binary.LittleEndian.Uint64(b[32:]) + uint64(binary.LittleEndian.Uint16(b[54:]))*uint64(binary.LittleEndian.Uint16(b[56:]))
}

// readNotes reads the threads' registers, and returns the auxiliary vector, nil if it is not there.
func (c *Core) readNotes(b []byte, r goruntime.RegisterLayout) (auxv []byte) {
	for len(b) >= 12 {
		nameLen, descLen := uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:]))
		kind := binary.LittleEndian.Uint32(b[8:])
		at := 12 + (nameLen+3)&^3
		if at+descLen > uint64(len(b)) {
			return auxv
		}
		desc := b[at:][:descLen]
		b = b[min(at+(descLen+3)&^3, uint64(len(b))):]
		switch {
		case kind == noteStatus:
			if len(desc) < statusRegisters {
				continue
			}
			if t, ok := r.General(int(binary.LittleEndian.Uint32(desc[statusTID:])), desc[statusRegisters:]); ok {
				c.Threads = append(c.Threads, t)
			}
		case kind == noteAuxv:
			auxv = desc
		case (kind == noteFloat || kind == noteXState) && len(c.Threads) > 0:
			r.Vectors(&c.Threads[len(c.Threads)-1], desc)
		}
	}
	return auxv
}

// Close removes the mapping. Memory that was handed out must not be used afterwards.
func (c *Core) Close() error {
	b := c.data
	if c.data = nil; b == nil {
		return nil
	}
	return unmap(b)
}

// Lend implements image.Lender: memory that lies in the core file or in the program's file in one
// piece is not copied.
func (c *Core) Lend(r image.Range) []byte {
	if b := c.inOneSegment(r.Addr, r.Len); b != nil {
		return b
	}
	return c.exe.Lend(r)
}

// segment returns the index of the segment that holds an address, or of the next one.
func (c *Core) segment(addr uint64) (i int, holds bool) {
	i = sort.Search(len(c.loads), func(i int) bool { return c.loads[i].Vaddr+c.loads[i].Memsz > addr })
	return i, i < len(c.loads) && c.loads[i].Vaddr <= addr
}

func (c *Core) inOneSegment(addr, n uint64) []byte {
	i, ok := c.segment(addr)
	if !ok {
		return nil
	}
	p := &c.loads[i]
	if off := addr - p.Vaddr; off <= p.Filesz && n <= p.Filesz-off {
		return c.data[p.Off+off:][:n:n]
	}
	return nil
}

// Copy implements image.Source. It copies only ranges that lie in several segments.
func (c *Core) Copy(ranges []image.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		if out[i] = c.inOneSegment(r.Addr, r.Len); out[i] != nil {
			continue
		}
		var b []byte
		for uint64(len(b)) < r.Len {
			next := c.upTo(r.Addr+uint64(len(b)), r.Len-uint64(len(b)))
			if len(next) == 0 {
				break
			}
			b = append(b, next...)
		}
		out[i] = b
	}
	return out, nil
}

// maxZeros bounds the zeros that upTo returns at once.
const maxZeros = 1 << 20

// upTo returns at most n bytes from addr on: of a segment; of the program's file, for memory that
// the core leaves out since the file has it; or zeros, for the rest of a segment that is longer in
// memory.
func (c *Core) upTo(addr, n uint64) []byte {
	i, ok := c.segment(addr)
	if !ok {
		return c.exe.From(addr, n)
	}
	p := &c.loads[i]
	n = min(n, p.Vaddr+p.Memsz-addr)
	off := addr - p.Vaddr
	if off < p.Filesz {
		n = min(n, p.Filesz-off)
		return c.data[p.Off+off:][:n:n]
	}
	if b := c.exe.From(addr, n); b != nil || p.Filesz == 0 {
		return b
	}
	return make([]byte, min(n, maxZeros))
}
