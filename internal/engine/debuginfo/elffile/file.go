package elffile

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

var (
	// ErrNotELF is the error for a file that is no executable of a supported kind.
	ErrNotELF = errors.New("not an ELF executable")
	// ErrNoSymbols is the error for a file without a symbol table.
	ErrNoSymbols = elf.ErrNoSymbols
)

// A File is an opened executable. It is safe for concurrent use.
type File struct {
	*elf.File
	r    io.ReaderAt
	size int64
	file *os.File // nil: none to close

	mu       sync.Mutex
	contents map[*elf.Section]contents
	// where From found something: the next question is mostly about the same section
	last atomic.Pointer[located]
}

// located is what lies at an address.
type located struct {
	addr  uint64
	bytes []byte
}

// contents are what was read of a section.
type contents struct {
	bytes []byte
	err   error
}

// Open opens an executable. It waits for nothing, whatever is at the path.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	var x *File
	if err == nil {
		if x, err = New(f, info.Size()); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	x.file = f
	return x, nil
}

// New reads an executable of so many bytes.
func New(r io.ReaderAt, size int64) (*File, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotELF, err)
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("%w that is supported: only 64-bit little-endian ones are", ErrNotELF)
	}
	return &File{File: f, r: r, size: size, contents: make(map[*elf.Section]contents)}, nil
}

// Close closes the file. What was read of it stays valid.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Contents returns the bytes of a section, decompressed. A section that is absent has none. They
// are read once and shared: do not change them.
func (f *File) Contents(name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil {
		return nil, nil
	}
	return f.SectionBytes(s)
}

// SectionBytes is Contents for a section of the file.
func (f *File) SectionBytes(s *elf.Section) ([]byte, error) {
	if known, ok := f.known(s); ok {
		return known.bytes, known.err
	}
	b, err := f.read(s)
	if err != nil {
		err = fmt.Errorf("section %s: %w", s.Name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.contents[s] = contents{b, err}
	return b, err
}

func (f *File) known(s *elf.Section) (contents, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.contents[s]
	return c, ok
}

func (f *File) read(s *elf.Section) ([]byte, error) {
	switch {
	case s.Type == elf.SHT_NOBITS:
		return nil, nil
	case s.Flags&elf.SHF_COMPRESSED != 0:
		return s.Data()
	case s.Offset > uint64(f.size) || s.FileSize > uint64(f.size)-s.Offset:
		return nil, errors.New("it lies beyond the end of the file")
	}
	b := make([]byte, s.FileSize)
	_, err := f.r.ReadAt(b, int64(s.Offset))
	return b, err
}

// At returns n bytes at a link-time address, nil if the file has none there.
func (f *File) At(addr, n uint64) []byte {
	b := f.From(addr)
	if n > uint64(len(b)) {
		return nil
	}
	return b[:n:n]
}

// From returns the bytes from a link-time address to the end of its section, nil if the file has
// none there.
func (f *File) From(addr uint64) []byte {
	if last := f.last.Load(); last != nil && addr >= last.addr && addr-last.addr < uint64(len(last.bytes)) {
		return last.bytes[addr-last.addr:]
	}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS || addr < s.Addr || addr-s.Addr >= s.Size {
			continue
		}
		b, err := f.SectionBytes(s)
		if err != nil || addr-s.Addr >= uint64(len(b)) {
			return nil
		}
		f.last.Store(&located{s.Addr, b})
		return b[addr-s.Addr:]
	}
	return nil
}

// HasDWARF reports whether the linker kept debug information.
func (f *File) HasDWARF() bool {
	s := f.Section(".debug_info")
	return s != nil && s.Size > 0
}
