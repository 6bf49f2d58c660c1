package debuginfo

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"unsafe"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// An index file, little-endian:
//
//	header   magic, format version, number of tables, length, CRC-32C of all that follows the header
//	tables   offset and length of each, in the order of the constants below
//	...      the tables' contents, each aligned to 8 bytes
//
// Tables of fixed-size records are read in place. A string is the offset in the string table of its
// length (uvarint) and bytes; equal strings are stored once. Variables of functions are packed (see variables.go).
//
// Nothing in a file is trusted beyond its checksum: an offset or count that does not fit reads as the zero value.
const (
	imageMagic   = "leakgate"
	imageVersion = 2 // raise it with every change of what is stored or how

	headerSize = 8 + 4 + 4 + 8 + 4 + 4
)

const (
	tableStrings = iota
	tableMeta
	tableTypes
	tableFields
	tableTypeNames // TypeIDs by name
	tableHashes    // hash and TypeID, by hash
	tableGlobals   // by address
	tableGlobalNames
	tableFuncs // by entry
	tableVars
	tableSections
	tableWarnings
	tableCount
)

const (
	typeRecord    = 56
	fieldRecord   = 16
	idRecord      = 4
	hashRecord    = 8
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
	tableHashes:      hashRecord,
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

// openImage checks an index file's bytes and makes an Index of them, without copying. Cost: one checksum over the bytes.
func openImage(b []byte) (*Index, error) {
	if len(b) < headerSize || string(b[:8]) != imageMagic {
		return nil, errNotIndex
	}
	le := binary.LittleEndian
	if v := le.Uint32(b[8:]); v != imageVersion {
		return nil, fmterr.Errorf("%w: format version %d, not %d", errNotIndex, v, imageVersion)
	}
	if le.Uint32(b[12:]) != tableCount || le.Uint64(b[16:]) != uint64(len(b)) {
		return nil, fmterr.Errorf("%w: truncated", errNotIndex)
	}
	if checksum(b[headerSize:]) != le.Uint32(b[24:]) {
		return nil, fmterr.Errorf("%w: wrong checksum", errNotIndex)
	}
	if len(b) < headerSize+16*tableCount {
		return nil, fmterr.Errorf("%w: truncated", errNotIndex)
	}
	x := &Index{}
	for i := range x.tables {
		off, n := le.Uint64(b[headerSize+16*i:]), le.Uint64(b[headerSize+16*i+8:])
		if off > uint64(len(b)) || n > uint64(len(b))-off || n%uint64(recordSize[i]) != 0 {
			return nil, fmterr.Errorf("%w: table %d lies beyond the end", errNotIndex, i)
		}
		x.tables[i] = b[off:][:n:n]
	}
	return x, nil
}

// count returns the number of records in a table.
//
//go:noinline
func (x *Index) count(table int) int { return len(x.tables[table]) / recordSize[table] }

// record returns a record's bytes. The caller keeps i below count.
//
//go:noinline
func (x *Index) record(table, i int) []byte {
	n := recordSize[table]
	return x.tables[table][i*n:][:n:n]
}

// str returns the string at an offset of the string table. It shares the file's memory.
func (x *Index) str(off uint32) string {
	t := x.tables[tableStrings]
	if uint64(off) >= uint64(len(t)) {
		return ""
	}
	n, used := binary.Uvarint(t[off:])
	if used <= 0 || n > uint64(len(t)-int(off)-used) || n == 0 {
		return ""
	}
	return unsafe.String(&t[int(off)+used], int(n))
}

//go:noinline
func u32(b []byte, off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
func u64(b []byte, off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
