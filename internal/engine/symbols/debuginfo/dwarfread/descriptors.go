package dwarfread

import (
	"encoding/binary"
	"reflect"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// abi.Type, as far as it identifies a type (go1.26 and 1.27 internal/abi/type.go).
const (
	abiTypeSize   = 0  // Size_ uintptr
	abiTypeHash   = 16 // Hash uint32
	abiTypeKind   = 23 // Kind_ uint8
	abiTypeBytes  = 48
	abiKindMask   = 1<<5 - 1
	descriptorMin = 90 // percentage of descriptors that must agree with DWARF
)

// readDescriptors turns DW_AT_go_runtime_type into addresses and reads the types' hashes from the
// descriptors. The linker writes the attribute as an offset into the section that holds the types
// (cmd/internal/dwarf/dwarf.go, DW_CLS_GO_TYPEREF): .rodata, .data.rel.ro with PIE, .go.type from
// go1.27, a part of .rodata in PE files. After external linking it is an address. So each possible
// base is tried; the right one is that for which most descriptors agree with DWARF in size and
// kind.
func (p *resolver) readDescriptors(syms []objfile.Symbol) {
	bases := []uint64{0}
	for _, s := range syms {
		if s.Name == "runtime.types" && s.Section != nil {
			bases = append(bases, s.Section.Addr, s.Addr)
		}
	}
	for _, s := range p.file.Sections {
		if s.Flags&objfile.ReadOnly != 0 {
			bases = append(bases, s.Addr)
		}
	}
	var best, bestAgree, total int
	for i, base := range bases {
		agree := 0
		total = 0
		for id := range p.types {
			if p.types[id].RuntimeAddr == 0 {
				continue
			}
			total++
			if p.describes(base+p.types[id].RuntimeAddr, &p.types[id]) {
				agree++
			}
		}
		if agree > bestAgree {
			best, bestAgree = i, agree
		}
		if total > 0 && agree == total {
			break
		}
	}
	if bestAgree*100 < total*descriptorMin {
		p.warnings = append(p.warnings, "the types' run-time descriptors were not found, so values in interfaces stay untyped")
		bestAgree = 0
	}
	for id := range p.types {
		t := &p.types[id]
		if t.RuntimeAddr == 0 {
			continue
		}
		addr := bases[best] + t.RuntimeAddr
		t.RuntimeAddr = 0
		if bestAgree > 0 && p.describes(addr, t) {
			t.RuntimeAddr = addr
			t.RuntimeHash = binary.LittleEndian.Uint32(p.file.At(addr, abiTypeBytes)[abiTypeHash:])
		}
	}
}

// describes reports whether the descriptor at addr could be that of t.
func (p *resolver) describes(addr uint64, t *symindex.Type) bool {
	b := p.file.At(addr, abiTypeBytes)
	if b == nil || addr%8 != 0 {
		return false
	}
	return reflect.Kind(b[abiTypeKind]&abiKindMask) == t.Kind && binary.LittleEndian.Uint64(b[abiTypeSize:]) == uint64(t.Size)
}
