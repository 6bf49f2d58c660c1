package objfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// A File is an open executable. Its reader sets the exported fields, which do not change
// afterwards. It is safe for concurrent use.
type File struct {
	Path     string // "": not opened by a path
	Format   string // "ELF", "PE" or "Mach-O"
	Machine  uint32 // the format's number of the processor
	GOARCH   string // "amd64" or "arm64"; "" for other machines
	Type     uint32 // the format's number for the kind of executable
	Entry    uint64 // link-time address at which an ELF file starts
	Sections []*Section
	Segments []Segment // loaded parts of an ELF file
	BuildID  string    // Go's, or a hash of the file where it has none

	// ReadSymbols reads the symbol table; the error is ErrNoSymbols if there is none. Symbols calls
	// it once.
	ReadSymbols func() ([]Symbol, error)
	// Exports returns the symbols that other files may refer to, which stripped files keep; nil for
	// formats other than ELF.
	Exports func() []Symbol
	// Relocated returns the value that the loader writes to an address where the file has zeros,
	// before it adds the bias; nil for formats whose files hold these values.
	Relocated func(addr uint64) uint64

	r    io.ReaderAt
	size int64
	file *os.File // nil: none to close

	identity struct {
		sync.Once
		text string
	}
	symbols struct {
		sync.Once
		list []Symbol
		err  error
	}
	mu       sync.Mutex
	contents map[*Section]contents
	// the section that From used last: the next call is mostly about the same section
	last atomic.Pointer[located]
}

// A Segment is a part of the file that the loader maps.
type Segment struct {
	Offset, FileSize uint64 // in the file
	Addr             uint64 // at link time
	Size             uint64 // in memory: bytes beyond FileSize are zero at first
	Writable         bool
}

// located holds the bytes of a section from an address on.
type located struct {
	addr  uint64
	bytes []byte
}

// contents are the bytes of a section, or the error of reading them.
type contents struct {
	bytes []byte
	err   error
}

// A Reader reads an executable of size bytes.
type Reader func(r io.ReaderAt, size int64) (*File, error)

// New returns a File without contents, for a Reader to fill in.
func New(r io.ReaderAt, size int64) *File {
	return &File{r: r, size: size, contents: make(map[*Section]contents)}
}

// Open opens an executable. It does not block, whatever kind of file is at the path.
func Open(path string, read Reader) (*File, error) {
	f, err := wholefile.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	var x *File
	if err == nil {
		if x, err = read(f, info.Size()); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	x.Path, x.file = path, f
	return x, nil
}

// Close closes the file. Contents that were read stay valid.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Section returns the first section of that name, nil if there is none.
func (f *File) Section(name string) *Section {
	for _, s := range f.Sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Contents returns the bytes of a section, decompressed; none for an absent section. They are read
// once and shared: do not change them.
func (f *File) Contents(name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil {
		return nil, nil
	}
	return f.SectionBytes(s)
}

// SectionBytes is Contents for a section of the file.
func (f *File) SectionBytes(s *Section) ([]byte, error) {
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

func (f *File) known(s *Section) (contents, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.contents[s]
	return c, ok
}

func (f *File) read(s *Section) ([]byte, error) {
	switch {
	case s.Flags&ZeroFilled != 0:
		return nil, nil
	case s.Decompressed != nil:
		return s.Decompressed()
	}
	return f.Raw(s, s.FileSize)
}

// Raw returns the first n bytes that the file has for a section, as they are in the file.
func (f *File) Raw(s *Section, n uint64) ([]byte, error) {
	n = min(n, s.FileSize)
	if s.Offset > uint64(f.size) || n > uint64(f.size)-s.Offset {
		return nil, errors.New("it lies beyond the end of the file")
	}
	b := make([]byte, n)
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
		if s.Flags&Loaded == 0 || s.Flags&ZeroFilled != 0 || !s.Has(addr) {
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
	return s != nil && s.FileSize > 0
}
