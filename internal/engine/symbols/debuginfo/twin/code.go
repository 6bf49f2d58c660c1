package twin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// sameCode compares instructions. They may differ only where they refer to read-only data.
func sameCode(orig, twin *objfile.File) error {
	const name = ".text"
	section := orig.Section(name)
	if section == nil {
		return fmt.Errorf("%w: there is no section %s to compare", ErrDiffers, name)
	}
	a, errA := orig.Contents(name)
	b, errB := twin.Contents(name)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	if len(a) != len(b) {
		return fmt.Errorf("%w: the sizes of section %s differ", ErrDiffers, name)
	}
	text := section.Addr
	skipLow, skipHigh := objfile.TextBuildID(a)
	var refersTo func(a, b []byte, i int) (end int, ok bool)
	x := codeComparison{orig: orig, twin: twin, text: text}
	switch orig.GOARCH {
	case "amd64":
		refersTo = x.amd64
	case "arm64":
		refersTo = x.arm64
	default:
		return fmt.Errorf("%w: code for %s machine %#x cannot be compared", ErrDiffers, orig.Format, orig.Machine)
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

type codeComparison struct {
	orig, twin *objfile.File
	text       uint64
}

// amd64 looks for the 32-bit displacement that covers the different byte at i. The start of the
// instruction is not known, so each of the four positions of the displacement is tried, with each
// length of an immediate that may follow. The right position leads to read-only data in both
// programs; a displacement read at a wrong one leads megabytes away.
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

// arm64 checks the instruction that covers the different byte at i. It has to be an ADRP that leads
// to a page of read-only data in both programs, or an ADD, load or store with an offset into such a
// page, to which a preceding ADRP sets its base register.
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
func hasReadOnlyPage(f *objfile.File, page uint64) bool {
	const size = 4096
	found := false
	for _, s := range f.Sections {
		if s.Flags&objfile.Loaded == 0 || s.Size == 0 || page+size <= s.Addr || page >= s.Addr+s.Size {
			continue
		}
		if s.Flags&(objfile.ReadOnly|objfile.Executable) == 0 {
			return false
		}
		found = found || s.Flags&objfile.ReadOnly != 0
	}
	return found
}
