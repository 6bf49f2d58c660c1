package symbolize

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// Generated has the names of generated code. It is not safe for concurrent use.
type Generated struct {
	Objects int      // objects that were read
	Notes   []string // which objects could not be read, and why
	table   *rangeTable[*elfFile]
}

// Frames returns the functions at an address, the innermost first; none if no object covers the
// address.
func (c *Generated) Frames(addr uint64) []frame {
	if o, ok := c.table.At(addr); ok {
		return o.Frames(addr)
	}
	return nil
}

// newGenerated reads objects: ELF files whose sections have the addresses that the program gave
// them. Where several objects cover an address, the last one counts. names are the names of the
// objects in notes.
func newGenerated(objects [][]byte, names []string) *Generated {
	c := new(Generated)
	var entries []rangeEntry[*elfFile]
	for i, image := range objects {
		o, err := elfObject(image)
		if err != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: %v", names[i], err))
			continue
		}
		c.Objects++
		for _, r := range o.Ranges() {
			entries = append(entries, rangeEntry[*elfFile]{Lo: r[0], Hi: r[1], Value: o})
		}
	}
	c.table = newRangeTable(entries)
	return c
}

// elfObject reads one object. In a relocatable object, the values of symbols are offsets in their
// sections, unless the program has relocated them. elfObject turns them into addresses, with which
// debug/elf relocates the debug information.
func elfObject(image []byte) (*elfFile, error) {
	x, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("it is no ELF object: %w", err)
	}
	if x.Type == elf.ET_REL {
		if x.Class != elf.ELFCLASS64 {
			return nil, errors.New("it is a relocatable object of 32 bits, which is not supported")
		}
		image = bytes.Clone(image)
		for _, s := range x.Sections {
			if s.Type == elf.SHT_SYMTAB && s.Offset < uint64(len(image)) {
				table := image[s.Offset:]
				relocate(table[:min(s.FileSize, uint64(len(table)))], x)
			}
		}
	}
	o, err := readELF(image)
	if err != nil {
		return nil, err
	}
	if len(o.Ranges()) == 0 {
		return nil, errors.New("its code has no address: it is as the compiler wrote it, not as it was registered")
	}
	return o, nil
}

// relocate adds the address of its section to each value in a 64-bit symbol table (elf(5),
// Elf64_Sym), unless the value is an address in the section already.
func relocate(table []byte, x *elf.File) {
	const entry, shndx, value = 24, 6, 8
	for ; len(table) >= entry; table = table[entry:] {
		i := int(x.ByteOrder.Uint16(table[shndx:]))
		if i == 0 || i >= len(x.Sections) {
			continue
		}
		if v := x.ByteOrder.Uint64(table[value:]); v < x.Sections[i].Addr {
			x.ByteOrder.PutUint64(table[value:], v+x.Sections[i].Addr)
		}
	}
}

// ReadGenerated reads the objects in a folder, in the order of their names. Files that are no
// objects give notes.
func ReadGenerated(dir string) (*Generated, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var objects [][]byte
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := wholefile.Read(filepath.Join(dir, e.Name()), wholefile.Most)
		if err != nil {
			return nil, err
		}
		objects, names = append(objects, b), append(names, e.Name())
	}
	c := newGenerated(objects, names)
	if c.Objects == 0 {
		return nil, fmt.Errorf("the folder has no object of generated code: %w", firstOf(c.Notes, "it is empty"))
	}
	return c, nil
}

func firstOf(notes []string, otherwise string) error {
	if len(notes) > 0 {
		return errors.New(notes[0])
	}
	return errors.New(otherwise)
}

// descriptorName is the symbol of the list of generated code. Each library that generates code has
// its own list (gdb's manual, "JIT Compilation Interface").
const descriptorName = "__jit_debug_descriptor"

// Bounds of a list that is not damaged.
const (
	maxObjects = 1 << 20
	maxBytes   = 4 << 30
)

// registeredObjects reads the objects that a descriptor of a 64-bit program lists. The descriptor
// has the version, the last action, the entry that it was about, and the first entry. An entry has
// the next and the previous entry, and the address and size of an object.
func registeredObjects(read func(addr, n uint64) ([]byte, error), order binary.ByteOrder, descriptor uint64) ([][]byte, error) {
	const first, next, begin, size = 16, 0, 16, 24
	head, err := read(descriptor, 24)
	if err != nil {
		return nil, fmt.Errorf("the list of generated code: %w", err)
	}
	if version := order.Uint32(head); version != 1 {
		if version == 0 { // in a library that has not initialized it
			return nil, nil
		}
		return nil, fmt.Errorf("the list of generated code has version %d; 1 is known", version)
	}
	var objects [][]byte
	seen := make(map[uint64]bool)
	total := uint64(0)
	for at := order.Uint64(head[first:]); at != 0; {
		if seen[at] || len(seen) == maxObjects {
			return objects, errors.New("the list of generated code is damaged: it has no end")
		}
		seen[at] = true
		entry, err := read(at, 32)
		if err != nil {
			return objects, fmt.Errorf("entry %d of the list of generated code: %w", len(seen), err)
		}
		n := order.Uint64(entry[size:])
		if total += n; total > maxBytes || n > maxBytes {
			return objects, fmt.Errorf("entry %d of the list of generated code is damaged: it says %d bytes", len(seen), n)
		}
		image, err := read(order.Uint64(entry[begin:]), n)
		if err != nil {
			return objects, fmt.Errorf("object %d of the list of generated code: %w", len(seen), err)
		}
		objects = append(objects, image)
		at = order.Uint64(entry[next:])
	}
	return objects, nil
}
