package debuginfo

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// The contents of an index, little-endian:
//
//	tables   offset and length of each, in the order of the constants below
//	...      the tables' contents, each aligned to 8 bytes
//
// Tables of fixed-size records are read in place. A string is the offset in the string table of its
// length (uvarint) and bytes; equal strings are stored once. Variables of functions are packed (see variables.go).
//
// In a file, the contents are in compressed blocks (see blocks.go):
//
//	header   magic, format version, number of tables, length of the contents, CRC-32C of all that follows the header
//	bounds   of the blocks, relative to the end of this list
//	...      the blocks
//
// Nothing in a file is trusted beyond its checksum: an offset or count that does not fit reads as the zero value.
const (
	imageMagic   = "leakgate"
	imageVersion = 5 // raise it with every change of what is stored or how

	headerSize    = 8 + 4 + 4 + 8 + 4 + 4
	directorySize = 16 * tableCount
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
	tableSections
	tableWarnings
	tableCount
)

const (
	typeRecord    = 36
	fieldRecord   = 16
	idRecord      = 4
	globalRecord  = 40
	funcRecord    = 32
	sectionRecord = 24
	stringRecord  = 4
	metaRecord    = 12
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
	tableSections:    sectionRecord,
	tableWarnings:    stringRecord,
}

// identity says where an index comes from.
type identity struct {
	buildID   string // of the program, also when a twin was read; "" means the indexed file's own
	goVersion string // "" means the indexed file's own
	twin      bool
}

var sourceOwn identity

// checksum is the CRC-32C. Its table is made, once, by the first call: at the start of a test binary it would take longer than all
// else of this module.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

var errNotIndex = errors.New("not an index of debug information")

// contents are the tables of an index, all there or in blocks that are filled when they are needed.
type contents struct {
	tables [tableCount][]byte
	starts [tableCount]int // where the tables are behind one another
	blocks *blocks         // nil: all there
}

// layOut gives each table its place behind the directory, and returns the size of it all.
func (c *contents) layOut() int {
	const align = 8
	end := directorySize
	for i, t := range c.tables {
		end = (end + align - 1) &^ (align - 1)
		c.starts[i] = end
		end += len(t)
	}
	return end
}

// read copies a part of what has been laid out, from an offset on, into zeroed memory.
func (c *contents) read(dst []byte, from int) {
	var directory [directorySize]byte
	for i, t := range c.tables {
		binary.LittleEndian.PutUint64(directory[16*i:], uint64(c.starts[i]))
		binary.LittleEndian.PutUint64(directory[16*i+8:], uint64(len(t)))
		copyPart(dst, from, t, c.starts[i])
	}
	copyPart(dst, from, directory[:], 0)
}

// copyPart copies what two stretches of the same space have in common.
//
//go:noinline // see packNumbers
func copyPart(dst []byte, dstAt int, src []byte, srcAt int) {
	low, high := max(dstAt, srcAt), min(dstAt+len(dst), srcAt+len(src))
	if low < high {
		copy(dst[low-dstAt:], src[low-srcAt:high-srcAt])
	}
}

// packFile makes an index file of contents. It uses all processors.
//
//go:noinline // see packNumbers
func packFile(c *contents) []byte {
	size := c.layOut()
	packed := make([][]byte, (size+blockSize-1)/blockSize)
	parallel(len(packed), func(i int) {
		var memory [blockSize]byte
		block := memory[:min(blockSize, size-i<<blockBits)]
		c.read(block, i<<blockBits)
		packed[i] = packBlock(nil, block)
	})
	le := binary.LittleEndian
	file := make([]byte, headerSize, headerSize+size/2)
	copy(file, imageMagic)
	le.PutUint32(file[8:], imageVersion)
	le.PutUint32(file[12:], tableCount)
	le.PutUint64(file[16:], uint64(size))
	end := 0
	file = le.AppendUint32(file, 0)
	for _, p := range packed {
		end += len(p)
		file = le.AppendUint32(file, uint32(end))
	}
	for _, p := range packed {
		file = append(file, p...)
	}
	le.PutUint32(file[24:], checksum(file[headerSize:]))
	return file
}

// openFile checks an index file's bytes and makes an Index of them, which goes on using them. Cost: one checksum over the bytes.
func openFile(b []byte) (*Index, error) {
	if len(b) < headerSize || string(b[:8]) != imageMagic {
		return nil, errNotIndex
	}
	if v := u32(b, 8); v != imageVersion {
		return nil, fmterr.Errorf("%w: format version %d, not %d", errNotIndex, v, imageVersion)
	}
	size := u64(b, 16)
	count := (size + blockSize - 1) / blockSize
	packed := b[headerSize:]
	ends := 4*count + 4
	if u32(b, 12) != tableCount || size > largestImage || ends > uint64(len(packed)) {
		return nil, fmterr.Errorf("%w: truncated", errNotIndex)
	}
	if checksum(packed) != u32(b, 24) {
		return nil, fmterr.Errorf("%w: wrong checksum", errNotIndex)
	}
	memory, err := mapMemory(int(size))
	if err != nil {
		return nil, err
	}
	filler := &blocks{memory: memory, ends: packed[:ends], packed: packed[ends:], filled: make([]atomic.Bool, count)}
	filler.need(0, directorySize)
	return openImage(memory, filler)
}

// openImage makes an Index of contents, without copying. filler is nil if they are all there.
func openImage(image []byte, filler *blocks) (*Index, error) {
	if len(image) < directorySize {
		return nil, fmterr.Errorf("%w: truncated", errNotIndex)
	}
	x := &Index{contents: &contents{blocks: filler}}
	for i := range x.tables {
		off, n := u64(image, 16*i), u64(image, 16*i+8)
		if off > uint64(len(image)) || n > uint64(len(image))-off || n%uint64(recordSize[i]) != 0 {
			return nil, fmterr.Errorf("%w: table %d lies beyond the end", errNotIndex, i)
		}
		x.tables[i] = image[off:][:n:n]
		x.starts[i] = int(off)
	}
	return x, nil
}

// part returns n bytes of a table, or as many as there are from off on.
//
//go:noinline // see packNumbers
func (x *contents) part(table, off, n int) []byte {
	t := x.tables[table]
	n = min(n, len(t)-off)
	if x.blocks != nil {
		x.blocks.need(x.starts[table]+off, n)
	}
	return t[off:][:n:n]
}

// count returns the number of records in a table.
//
//go:noinline
func (x *contents) count(table int) int { return len(x.tables[table]) / recordSize[table] }

// record returns a record's bytes. The caller keeps i below count.
//
//go:noinline
func (x *contents) record(table, i int) []byte {
	n := recordSize[table]
	return x.part(table, i*n, n)
}

// str returns the string at an offset of the string table. It shares the index's memory.
//
//go:noinline
func (x *contents) str(off uint32) string {
	b := x.sized(tableStrings, off)
	return view(b)
}

// sized returns the bytes at an offset of a table, before which their number is given; none if there is no such offset.
func (x *contents) sized(table int, off uint32) []byte {
	size := len(x.tables[table])
	if uint64(off) >= uint64(size) {
		return nil
	}
	n, used := binary.Uvarint(x.part(table, int(off), binary.MaxVarintLen32))
	start := int(off) + used
	if used <= 0 || n > uint64(size-start) {
		return nil
	}
	return x.part(table, start, int(n))
}

//go:noinline
func u32(b []byte, off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
func u64(b []byte, off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
