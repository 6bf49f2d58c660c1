package elfimage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
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

// A Core is an opened core file, an image.Source and image.Lender. It is safe for concurrent use.
// Memory that it hands out is valid until Close.
type Core struct {
	Threads []goruntime.Thread
	exe     *Program
	data    []byte
	loads   []segment // by address
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
	x, err := readHeader(c.data)
	if truncated := (*TruncatedError)(nil); errors.As(err, &truncated) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("it is no core file: %w", err)
	}
	goarch := objfile.Architectures[x.machine]
	switch {
	case x.kind != typeCore:
		return nil, fmt.Errorf("it is no core file, but an ELF file of type %d", x.kind)
	case goarch == "":
		return nil, fmt.Errorf("it is a core file of another processor, of number %d in ELF files; amd64 and arm64 are supported", x.machine)
	case goarch != exe.GOARCH:
		return nil, fmt.Errorf("it is a core file of %s, and the program of %s", goarch, exe.GOARCH)
	case len(x.segments) == 0xffff:
		return nil, errors.New("the core file has more than 65,534 mappings, which is not supported")
	}
	var notes []segment
	end := uint64(0)
	for _, p := range x.segments {
		switch p.kind {
		case segmentLoaded:
			c.loads = append(c.loads, p)
		case segmentOfNotes:
			notes = append(notes, p)
		}
		if p.offset+p.size < p.offset {
			return nil, errors.New("a segment of the core file has impossible bounds")
		}
		end = max(end, p.offset+p.size)
	}
	if end > uint64(len(c.data)) {
		return nil, &TruncatedError{end, uint64(len(c.data))}
	}
	sort.Slice(c.loads, func(i, j int) bool { return c.loads[i].addr < c.loads[j].addr })
	var auxv []byte
	for _, p := range notes {
		if a := c.readNotes(c.data[p.offset:][:p.size], goruntime.RegisterLayouts[goarch]); a != nil {
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

// readNotes reads the threads' registers, and returns the auxiliary vector, nil if it is not there.
func (c *Core) readNotes(b []byte, r goruntime.RegisterLayout) (auxv []byte) {
	for n := range objfile.Notes(b, binary.LittleEndian) {
		switch n.Kind {
		case noteStatus:
			if len(n.Data) < statusRegisters {
				continue
			}
			if t, ok := r.General(int(binary.LittleEndian.Uint32(n.Data[statusTID:])), n.Data[statusRegisters:]); ok {
				c.Threads = append(c.Threads, t)
			}
		case noteAuxv:
			auxv = n.Data
		case noteFloat, noteXState:
			if len(c.Threads) > 0 {
				r.Vectors(&c.Threads[len(c.Threads)-1], n.Data)
			}
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
	i = sort.Search(len(c.loads), func(i int) bool { return c.loads[i].addr+c.loads[i].whole > addr })
	return i, i < len(c.loads) && c.loads[i].addr <= addr
}

func (c *Core) inOneSegment(addr, n uint64) []byte {
	i, ok := c.segment(addr)
	if !ok {
		return nil
	}
	p := &c.loads[i]
	if off := addr - p.addr; off <= p.size && n <= p.size-off {
		return c.data[p.offset+off:][:n:n]
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
	n = min(n, p.addr+p.whole-addr)
	off := addr - p.addr
	if off < p.size {
		n = min(n, p.size-off)
		return c.data[p.offset+off:][:n:n]
	}
	if b := c.exe.From(addr, n); b != nil || p.size == 0 {
		return b
	}
	return make([]byte, min(n, maxZeros))
}
