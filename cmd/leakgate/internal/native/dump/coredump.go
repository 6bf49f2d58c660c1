package dump

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A Core is an opened core file.
type Core struct {
	Order binary.ByteOrder
	file  *os.File
	size  int64
	loads []*elf.Prog // by address
	maps  []*Mapping
}

// IsCore reports whether a file begins as a core file does.
func IsCore(path string) bool {
	f, err := wholefile.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	x, err := elf.NewFile(f)
	return err == nil && x.Type == elf.ET_CORE
}

// OpenCore opens a core file. It does not read the memory in it yet: Read does.
func OpenCore(path string) (_ *Core, err error) {
	f, err := wholefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	x, err := elf.NewFile(f)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is no core file: %w", err)
	case x.Type != elf.ET_CORE:
		return nil, fmt.Errorf("it is no core file, but %v", x.Type)
	case x.Class != elf.ELFCLASS64:
		return nil, errors.New("it is a core file of a 32-bit program, which is not supported")
	}
	c := &Core{Order: x.ByteOrder, file: f, size: info.Size()}
	for _, p := range x.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr+p.Memsz >= p.Vaddr {
			c.loads = append(c.loads, p)
		}
	}
	sort.Slice(c.loads, func(i, j int) bool { return c.loads[i].Vaddr < c.loads[j].Vaddr })
	return c, c.readMaps(x)
}

// Close closes the file.
func (c *Core) Close() error { return c.file.Close() }

// Maps returns the mappings, sorted by address, with the build IDs of the files whose first pages
// the core has.
func (c *Core) Maps() []*Mapping { return c.maps }

// maxNotes bounds the notes: some KB for each thread, some 100 bytes for each mapping.
const maxNotes = 256 << 20

// maxRead bounds a piece of memory that is read at once.
const maxRead = 1 << 30

// Read returns n bytes of memory. It is an error if the core does not have all of them.
func (c *Core) Read(addr, n uint64) ([]byte, error) {
	if n > maxRead {
		return nil, fmt.Errorf("%d bytes at %#x are more than can be right", n, addr)
	}
	var out []byte
	for uint64(len(out)) < n {
		at := addr + uint64(len(out))
		i := sort.Search(len(c.loads), func(i int) bool { return c.loads[i].Vaddr+c.loads[i].Memsz > at })
		if i == len(c.loads) || at < c.loads[i].Vaddr || at-c.loads[i].Vaddr >= c.loads[i].Filesz {
			return nil, fmt.Errorf("the core file does not have the memory at %#x: coredump_filter leaves it out, or the file is cut off", at)
		}
		p := c.loads[i]
		off := at - p.Vaddr
		piece := min(p.Filesz-off, n-uint64(len(out)))
		if p.Off > uint64(c.size) || off+piece > uint64(c.size)-p.Off {
			return nil, fmt.Errorf("the core file is truncated: the memory at %#x would lie behind its end", at)
		}
		out = append(out, make([]byte, piece)...)
		if _, err := c.file.ReadAt(out[uint64(len(out))-piece:], int64(p.Off+off)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// noteFile is NT_FILE, the note with the mapped files (uapi/linux/elf.h).
const noteFile = 0x46494c45

// readMaps makes a memory map of the segments and the names in the note.
func (c *Core) readMaps(x *elf.File) error {
	for _, p := range c.loads {
		if p.Memsz > 0 {
			c.maps = append(c.maps, &Mapping{Start: p.Vaddr, End: p.Vaddr + p.Memsz, Executable: p.Flags&elf.PF_X != 0})
		}
	}
	for _, p := range x.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		switch {
		case p.Off > uint64(c.size) || p.Filesz > uint64(c.size)-p.Off:
			return errors.New("the core file is truncated: its notes are not there")
		case p.Filesz > maxNotes:
			return fmt.Errorf("the core file has %d bytes of notes, more than can be right: the limit is %d", p.Filesz, maxNotes)
		}
		notes, err := io.ReadAll(p.Open())
		if err != nil {
			return err
		}
		for note := range objfile.Notes(notes, c.Order) {
			if note.Kind == noteFile && note.Name == "CORE" {
				c.nameFiles(note.Data)
			}
		}
	}
	SortMaps(c.maps)
	c.readBuildIDs()
	return nil
}

// nameFiles reads the note NT_FILE: the count of mappings and the page size; begin, end and offset
// of each mapping; then their names.
func (c *Core) nameFiles(b []byte) {
	if len(b) < 16 {
		return
	}
	count, page := c.Order.Uint64(b), c.Order.Uint64(b[8:])
	if count > uint64(len(b))/24 {
		return
	}
	places := b[16:]
	if uint64(len(places)) < count*24 {
		return
	}
	names := places[count*24:]
	byStart := make(map[uint64]*Mapping)
	for _, m := range c.maps {
		byStart[m.Start] = m
	}
	for i := range count {
		name, rest, _ := bytes.Cut(names, []byte{0})
		names = rest
		place := places[i*24:]
		start, end, offset := c.Order.Uint64(place), c.Order.Uint64(place[8:]), c.Order.Uint64(place[16:])*page
		m := byStart[start]
		if m == nil && start < end { // a debugger leaves out memory that is in the file
			m = &Mapping{Start: start, End: end}
			c.maps = append(c.maps, m)
		}
		if m == nil {
			continue
		}
		m.Offset = offset
		m.File, m.Deleted = strings.CutSuffix(string(name), " (deleted)")
	}
}

// readBuildIDs finds the build ID of a file in its first page, which the kernel puts into a core
// file for this purpose.
func (c *Core) readBuildIDs() {
	ids := make(map[string]string)
	for _, m := range c.maps {
		if m.Offset == 0 && m.IsFile() && ids[m.File] == "" {
			ids[m.File] = c.buildIDAt(m)
		}
	}
	for _, m := range c.maps {
		m.BuildID = ids[m.File]
	}
}

func (c *Core) buildIDAt(m *Mapping) string {
	const headerSize, programHeader = 64, 56
	head, err := c.Read(m.Start, headerSize)
	if err != nil || string(head[:4]) != elf.ELFMAG {
		return ""
	}
	at, count := c.Order.Uint64(head[32:]), uint64(c.Order.Uint16(head[56:]))
	for i := range count {
		p, err := c.Read(m.Start+at+i*programHeader, programHeader)
		if err != nil {
			return ""
		}
		if elf.ProgType(c.Order.Uint32(p)) != elf.PT_NOTE {
			continue
		}
		offset, size := c.Order.Uint64(p[8:]), c.Order.Uint64(p[32:])
		if offset+size > m.End-m.Start || size > m.End-m.Start {
			continue
		}
		if notes, err := c.Read(m.Start+offset, size); err == nil {
			if id := BuildIDOf(notes, c.Order); id != "" {
				return id
			}
		}
	}
	return ""
}
