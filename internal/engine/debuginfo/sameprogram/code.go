package sameprogram

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/debuginfo/elffile"
)

// The function table, .gopclntab (go1.26 and 1.27 runtime/symtab.go, pcHeader; runtime2.go, _func).
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

// pclntabNames are the sections it may be in; the second with some linkers' PIE.
var pclntabNames = []string{".gopclntab", ".data.rel.ro.gopclntab"}

// sameFunctions compares the function tables: entries, names, files, lines, frame sizes. Where a
// function's funcdata lies may differ; frames are read with the running program's own.
func sameFunctions(orig, twin *elffile.File) error {
	name := ""
	for _, n := range pclntabNames {
		if orig.Section(n) != nil {
			name = n
		}
	}
	a, b, err := bothContents(orig, twin, name)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	if len(a) < pclnHeader || le.Uint32(a) != pclnMagic || !bytes.Equal(a[:pclnHeader], b[:pclnHeader]) {
		return fmt.Errorf("%w: the function tables have different or unknown headers", ErrDiffers)
	}
	count, table := le.Uint64(a[pclnCount:]), le.Uint64(a[pclnTable:])
	if table > uint64(len(a)) || count > uint64(len(a))/8 || (count+1)*8 > uint64(len(a))-table {
		return fmt.Errorf("%w: the function table is damaged", ErrDiffers)
	}
	// Everything up to the first _func has to be equal, and between them everything but funcdata.
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

// sameCode compares instructions. They may differ only where they refer to read-only data.
func sameCode(orig, twin *elffile.File) error {
	a, b, err := bothContents(orig, twin, ".text")
	if err != nil {
		return err
	}
	text := orig.Section(".text").Addr
	skipLow, skipHigh := buildIDText(a)
	var refersTo func(a, b []byte, i int) (end int, ok bool)
	x := codeComparison{orig: orig, twin: twin, text: text}
	switch orig.Machine {
	case elf.EM_X86_64:
		refersTo = x.amd64
	case elf.EM_AARCH64:
		refersTo = x.arm64
	default:
		return fmt.Errorf("%w: code for ELF machine %d cannot be compared", ErrDiffers, orig.Machine)
	}
	const chunk = 64 // most of the code is equal, and compared quickly
	for i := 0; i < len(a); {
		switch {
		case len(a)-i >= chunk && bytes.Equal(a[i:i+chunk], b[i:i+chunk]):
			i += chunk
		case a[i] == b[i] || i >= skipLow && i < skipHigh:
			i++
		default:
			end, ok := refersTo(a, b, i)
			if !ok {
				return fmt.Errorf("%w: the code differs at %#x", ErrDiffers, text+uint64(i))
			}
			i = end
		}
	}
	return nil
}

// buildIDText finds the build ID in the code (go1.26 cmd/link/internal/ld/data.go, textbuildid).
func buildIDText(text []byte) (low, high int) {
	low = bytes.Index(text, []byte("\xff Go build ID: \""))
	if low < 0 {
		return 0, 0
	}
	n := bytes.Index(text[low:], []byte("\"\n \xff"))
	if n < 0 {
		return 0, 0
	}
	return low, low + n
}

type codeComparison struct {
	orig, twin *elffile.File
	text       uint64
}

// amd64 looks for the 32-bit displacement that covers the different byte at i. Where instructions
// start is not known, so each of the four windows is tried, and each length of an immediate that
// may follow: the right one leads to read-only data in both programs. A displacement read at a
// wrong window leads megabytes away.
func (x *codeComparison) amd64(a, b []byte, i int) (int, bool) {
	for w := i; w > i-4 && w >= 0; w-- {
		if w+4 > len(a) || !bytes.Equal(a[w:i], b[w:i]) {
			continue
		}
		da, db := binary.LittleEndian.Uint32(a[w:]), binary.LittleEndian.Uint32(b[w:])
		for _, immediate := range []uint64{0, 1, 2, 4} {
			next := x.text + uint64(w) + 4 + immediate
			if isReadOnlyData(x.orig, next+uint64(int64(int32(da)))) && isReadOnlyData(x.twin, next+uint64(int64(int32(db)))) {
				return w + 4, true
			}
		}
		// Non-PIE code may also hold an address itself.
		if isReadOnlyData(x.orig, uint64(da)) && isReadOnlyData(x.twin, uint64(db)) {
			return w + 4, true
		}
	}
	return 0, false
}

// arm64 takes the instruction that covers the different byte: an ADRP that leads to a page of
// read-only data in both programs, or an ADD, load or store with an offset in such a page, as a
// preceding ADRP to its base register says.
func (x *codeComparison) arm64(a, b []byte, i int) (int, bool) {
	w := i &^ 3
	if w+4 > len(a) {
		return 0, false
	}
	ia, ib := binary.LittleEndian.Uint32(a[w:]), binary.LittleEndian.Uint32(b[w:])
	if isADRP(ia) && isADRP(ib) {
		return w + 4, hasReadOnlyPage(x.orig, x.page(ia, w)) && hasReadOnlyPage(x.twin, x.page(ib, w))
	}
	const lookback = 16
	if !isPageOffset(ia) || !isPageOffset(ib) {
		return 0, false
	}
	for p := w - 4; p >= 0 && p >= w-4*lookback; p -= 4 {
		adrp := binary.LittleEndian.Uint32(a[p:])
		if isADRP(adrp) && adrp&31 == ia>>5&31 {
			return w + 4, hasReadOnlyPage(x.orig, x.page(adrp, p))
		}
	}
	return 0, false
}

func isADRP(ins uint32) bool { return ins&0x9f000000 == 0x90000000 }

// isPageOffset reports whether an instruction is ADD with an immediate, or a load or store with an
// unsigned offset.
func isPageOffset(ins uint32) bool {
	return ins&0x7f800000 == 0x11000000 || ins&0x3b000000 == 0x39000000
}

func (x *codeComparison) page(adrp uint32, at int) uint64 {
	imm := int64(int32(adrp<<8)>>13)<<2 | int64(adrp>>29&3)
	return (x.text+uint64(at))&^0xfff + uint64(imm<<12)
}

// hasReadOnlyPage reports whether a page holds read-only data and nothing that may be written.
func hasReadOnlyPage(f *elffile.File, page uint64) bool {
	const size = 4096
	found := false
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 || page+size <= s.Addr || page >= s.Addr+s.Size {
			continue
		}
		if !isReadOnlyData(f, max(page, s.Addr)) {
			return false
		}
		found = true
	}
	return found
}
