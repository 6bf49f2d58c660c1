package symindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// An index file, little-endian:
//
//	header     magic, format version, number of tables, length of the rest of the file, CRC-32C of
//	           the rest, 4 bytes of zero
//	directory  offset (from the end of the header) and length of each table, in the order of the
//	           constants below
//	...        the tables, each aligned to 8 bytes
//
// Tables of fixed-size records are read in place. A string is the offset in the string table of its
// length (uvarint) and bytes; equal strings are stored once. Variables of functions are packed (see
// variables.go).
//
// Version is the version of the format. A right checksum is no proof that the contents are sound:
// an offset or count that does not fit reads as the zero value.
const (
	imageMagic = "leakgate"
	Version    = 11 // raise it with every change of what is stored or how

	headerSize    = 8 + 4 + 4 + 8 + 4 + 4
	directorySize = 16 * tableCount
	tableAlign    = 8
	largestImage  = 1 << 36
)

const (
	tableStrings = iota
	tableMeta
	tableTypes
	tableFields
	tableTypeNames   // indices by the hash of the name
	tableHashes      // TypeIDs by hash
	tableGlobals     // by address
	tableGlobalNames // indices by the hash of the name
	tableFuncs       // by entry
	tableVars
	tableWarnings
	tablePackages // whose name is not the last element of their import path
	tableCount
)

const (
	typeRecord    = 36
	fieldRecord   = 16
	idRecord      = 4
	globalRecord  = 40
	funcRecord    = 32
	stringRecord  = 4
	packageRecord = 8
	metaRecord    = 8
)

var recordSize = [tableCount]int{
	tableStrings:     1,
	tableMeta:        metaRecord,
	tableTypes:       typeRecord,
	tableFields:      fieldRecord,
	tableTypeNames:   idRecord,
	tableHashes:      idRecord,
	tableGlobals:     globalRecord,
	tableGlobalNames: idRecord,
	tableFuncs:       funcRecord,
	tableVars:        1,
	tableWarnings:    stringRecord,
	tablePackages:    packageRecord,
}

// checksum returns the CRC-32C. The first call makes its table: at the start of a test binary this
// would take longer than all other initialization of this module.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// ErrNotIndex is the error for a file that is not an index, is damaged, or has another format
// version.
var ErrNotIndex = errors.New("not an index of debug information")

// contents are the tables of an index.
type contents struct {
	tables [tableCount][]byte
	free   func() // releases the memory that takeMemory returned; nil for an index made by New
}

// directory lays out the tables one after the other. It returns the directory, and the size of
// directory and tables together in bytes.
func (c *contents) directory() (directory []byte, size int) {
	directory = make([]byte, directorySize)
	size = directorySize
	for i, t := range c.tables {
		size = aligned(size)
		binary.LittleEndian.PutUint64(directory[16*i:], uint64(size))
		binary.LittleEndian.PutUint64(directory[16*i+8:], uint64(len(t)))
		size += len(t)
	}
	return directory, size
}

func aligned(n int) int { return (n + tableAlign - 1) &^ (tableAlign - 1) }

// eachPart calls do with the parts of a file that follow its header: the directory, and then
// padding and contents of each table.
func (c *contents) eachPart(directory []byte, do func([]byte) error) error {
	if err := do(directory); err != nil {
		return err
	}
	at := directorySize
	var zeros [tableAlign]byte
	for _, t := range c.tables {
		gap := aligned(at) - at
		if err := errors.Join(do(zeros[:gap]), do(t)); err != nil {
			return err
		}
		at += gap + len(t)
	}
	return nil
}

// WriteFile writes an index file.
func (c *contents) WriteFile(w io.Writer) error {
	directory, size := c.directory()
	sum := uint32(0)
	_ = c.eachPart(directory, func(b []byte) error {
		sum = crc32.Update(sum, castagnoli(), b)
		return nil
	})
	le := binary.LittleEndian
	header := make([]byte, headerSize)
	copy(header, imageMagic)
	le.PutUint32(header[8:], Version)
	le.PutUint32(header[12:], tableCount)
	le.PutUint64(header[16:], uint64(size))
	le.PutUint32(header[24:], sum)
	if _, err := w.Write(header); err != nil {
		return err
	}
	return c.eachPart(directory, func(b []byte) error {
		_, err := w.Write(b)
		return err
	})
}

// ReadFile reads an index file of fileSize bytes and checks it. It copies the file into memory of
// this process, so that later changes of the file do no harm.
func ReadFile(r io.ReaderAt, fileSize int64) (*Index, error) {
	var header [headerSize]byte
	if _, err := r.ReadAt(header[:], 0); err != nil || string(header[:8]) != imageMagic {
		return nil, fmt.Errorf("%w: no header", ErrNotIndex)
	}
	if v := u32(header[:], 8); v != Version {
		return nil, fmt.Errorf("%w: format version %d, not %d", ErrNotIndex, v, Version)
	}
	size := u64(header[:], 16)
	if u32(header[:], 12) != tableCount || size > largestImage || uint64(fileSize) != headerSize+size {
		return nil, fmt.Errorf("%w: truncated", ErrNotIndex)
	}
	memory, free, err := takeMemory(int(size))
	if err != nil {
		return nil, err
	}
	x, err := readContents(r, memory, u32(header[:], 24))
	if err != nil {
		free()
		return nil, err
	}
	x.free = free
	return x, nil
}

func readContents(r io.ReaderAt, memory []byte, sum uint32) (*Index, error) {
	if _, err := r.ReadAt(memory, headerSize); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotIndex, err)
	}
	if checksum(memory) != sum {
		return nil, fmt.Errorf("%w: wrong checksum", ErrNotIndex)
	}
	return openMemory(memory)
}

// openMemory makes an Index from the part of a file that follows the header, without copying it.
func openMemory(image []byte) (*Index, error) {
	if len(image) < directorySize {
		return nil, fmt.Errorf("%w: truncated", ErrNotIndex)
	}
	x := &Index{contents: new(contents)}
	for i := range x.tables {
		off, n := u64(image, 16*i), u64(image, 16*i+8)
		if off > uint64(len(image)) || n > uint64(len(image))-off || n%uint64(recordSize[i]) != 0 {
			return nil, fmt.Errorf("%w: table %d lies beyond the end", ErrNotIndex, i)
		}
		x.tables[i] = image[off:][:n:n]
	}
	return x, nil
}

// count returns the number of records in a table.
func (x *contents) count(table int) int { return len(x.tables[table]) / recordSize[table] }

// record returns a record's bytes. The caller keeps i below count.
func (x *contents) record(table, i int) []byte {
	n := recordSize[table]
	return x.tables[table][i*n:][:n:n]
}

// str returns the string at an offset of the string table. It shares the index's memory.
func (x *contents) str(off uint32) string { return view(x.sized(tableStrings, off)) }

// sized returns the bytes at an offset of a table, where a uvarint before them gives their number;
// nil if the offset or the number is out of range.
//
//go:norace
func (x *contents) sized(table int, off uint32) []byte {
	b := x.tables[table]
	if uint64(off) >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil
	}
	return b[used:][:n:n]
}

func u32(b []byte, off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
func u64(b []byte, off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
