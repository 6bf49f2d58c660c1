package twin

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// The function table, pclntab (go1.26 and 1.27 runtime/symtab.go, pcHeader; runtime2.go, _func).
const (
	pclnMagic = 0xfffffff1 // internal/abi.Go120PCLnTabMagic, still current
	pclnCount = 8
	// offset of the table proper: pairs of entry and offset of _func, then the _funcs
	pclnTable     = 64
	pclnHeader    = 72
	funcNPCData   = 28
	funcNFuncData = 43
	funcFixed     = 44 // size of _func; pcdata and funcdata offsets follow
)

// sameFunctions compares the function tables: entries, names, files, lines, frame sizes. The
// offsets of funcdata may differ, since frames are read with the running program's own funcdata.
func (m *modules) sameFunctions() error {
	a, b := m.functionTables()
	le := binary.LittleEndian
	if len(a) < pclnHeader || len(a) != len(b) || le.Uint32(a) != pclnMagic || !bytes.Equal(a[:pclnHeader], b[:pclnHeader]) {
		return fmt.Errorf("%w: the function tables have different or unknown headers", ErrDiffers)
	}
	count, table := le.Uint64(a[pclnCount:]), le.Uint64(a[pclnTable:])
	if table > uint64(len(a)) || count > uint64(len(a))/8 || (count+1)*8 > uint64(len(a))-table {
		return fmt.Errorf("%w: the function table is damaged", ErrDiffers)
	}
	// Everything up to the first _func has to be equal. In and between the _funcs everything has to
	// be equal except the offsets of funcdata.
	done := table + (count+1)*8
	if !bytes.Equal(a[:done], b[:done]) {
		return fmt.Errorf("%w: the function tables differ", ErrDiffers)
	}
	for i := range count {
		at := table + uint64(le.Uint32(a[table+i*8+4:]))
		if at < done || at > uint64(len(a)) || uint64(len(a))-at < funcFixed {
			return fmt.Errorf("%w: the function table is damaged", ErrDiffers)
		}
		funcdata := at + funcFixed + 4*uint64(le.Uint32(a[at+funcNPCData:]))
		end := funcdata + 4*uint64(a[at+funcNFuncData])
		if end < at || end > uint64(len(a)) || !bytes.Equal(a[done:funcdata], b[done:funcdata]) {
			return fmt.Errorf("%w: the function tables differ", ErrDiffers)
		}
		done = end
	}
	return nil
}

// functionTables returns the function tables: from their headers to the ends of the last parts, the
// _funcs.
func (m *modules) functionTables() (a, b []byte) {
	headA, headB := m.words(moduleHeader)
	tableA, tableB := m.words(moduleTable)
	lenA, lenB := m.words(moduleTable + 8)
	return tableBytes(m.orig, headA, tableA, lenA), tableBytes(m.twin, headB, tableB, lenB)
}

func tableBytes(f *objfile.File, head, table, length uint64) []byte {
	if table < head || table+length < table {
		return nil
	}
	return f.At(head, table+length-head)
}
