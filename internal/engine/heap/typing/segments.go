package typing

import (
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A Static is a package variable, data with a symbol that the compiler made, or a stretch between
// symbols. At least one word of it leads on: see LeadsOn.
type Static struct {
	*debuginfo.Global                // that of the debug information; Size is in bytes
	Addr              uint64         // in the process
	HeapType          *heaptype.Type // nil if it has none
	Mem               []byte         // its memory
	segment           *segment
}

// Segments are the data segments of a program. They do not change.
type Segments struct {
	Statics []Static // by address. Most variables of a program lead nowhere: they are not listed
	types   *heaptype.Table
}

// LoadSegments lists the package variables, other symbols and stretches between them that lead on.
//
//go:norace
func LoadSegments(types *heaptype.Table) *Segments {
	globals, bias := types.Names.Globals(), types.Model.Bias()
	d := &Segments{Statics: make([]Static, 0, len(globals)/4), types: types}
	all := segments(types.Model)
	for k := range all {
		seg := &all[k]
		at := seg.start // end of the symbols so far
		first := sort.Search(len(globals), func(i int) bool { return globals[i].Addr+bias >= seg.start })
		for i := first; i < len(globals) && globals[i].Addr+bias < seg.end; i++ {
			addr, size := globals[i].Addr+bias, globals[i].Size
			if size <= 0 {
				continue
			}
			mem := types.Model.Mem.Bytes(addr, uint64(size))
			if mem == nil {
				continue
			}
			d.unnamed(seg, at, addr)
			s := Static{Global: &globals[i], Addr: addr, Mem: mem, segment: seg}
			if d.anyLeadsOn(&s) {
				s.HeapType = d.staticType(s.Global)
				d.Statics = append(d.Statics, s)
			}
			at = max(at, addr+uint64(size))
		}
		d.unnamed(seg, at, seg.end)
	}
	return d
}

// A segment is a data segment that the collector has a mask of.
type segment struct {
	start, end uint64
	mask       []byte
}

// segments lists the data segments of all modules by address.
func segments(m *goruntime.Model) []segment {
	var all []segment
	for _, mod := range m.Modules {
		all = append(all, segment{mod.Data, mod.EData, mod.DataMask}, segment{mod.BSS, mod.EBSS, mod.BSSMask})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].start < all[j].start })
	return all
}

// staticType returns the type of a variable or symbol, nil if it has none.
func (d *Segments) staticType(gl *debuginfo.Global) *heaptype.Type {
	if t := d.types.ByID(gl.Type); t != nil {
		return t
	}
	for _, known := range compilerMade {
		if strings.Contains(gl.Name, known.symbol) {
			return d.types.Named(known.typ)
		}
	}
	return nil
}

// compilerMade are the types of symbols that the compiler makes for type assertions and switches,
// with the caches of their results (go1.26 and go1.27 cmd/compile/internal/ssagen/ssa.go, dottype1;
// cmd/compile/internal/walk/switch.go).
var compilerMade = []struct{ symbol, typ string }{
	{"..typeAssert.", "internal/abi.TypeAssert"},
	{"..interfaceSwitch.", "internal/abi.InterfaceSwitch"},
}

// unnamed adds the stretch between two symbols if it leads on: the linker keeps no symbol for some
// of the compiler's own data.
func (d *Segments) unnamed(seg *segment, from, to uint64) {
	if from >= to {
		return
	}
	s := Static{Addr: from, Mem: d.types.Model.Mem.Bytes(from, to-from), segment: seg}
	if s.Mem == nil || !d.anyLeadsOn(&s) {
		return
	}
	s.Global = &debuginfo.Global{Name: symbol.UnnamedData, Package: "runtime", Size: int64(to - from)}
	d.Statics = append(d.Statics, s)
}

// IsPointer reports whether the collector's mask has a bit for a word, by its number.
func (s *Static) IsPointer(word uint64) bool {
	return goruntime.MaskBit(s.segment.mask, (s.Addr-s.segment.start)/8+word)
}

// pointers yields the words that the collector's mask shows: their addresses, and what they hold.
//
//go:norace
func (s *Static) pointers(yield func(at, to uint64) bool) {
	for off := uint64(0); off+8 <= uint64(len(s.Mem)); off += 8 {
		if s.IsPointer(off/8) && !yield(s.Addr+off, heaptype.Word(s.Mem, off)) {
			return
		}
	}
}

// anyLeadsOn reports whether one of the words that the collector's mask shows leads on.
//
//go:norace
func (d *Segments) anyLeadsOn(s *Static) bool {
	for _, to := range s.pointers {
		if d.LeadsOn(to) {
			return true
		}
	}
	return false
}

// LeadsOn reports whether an address lies in an object or in a data segment. Other
// references of a variable, such as those of literals to read-only data, lead nowhere.
//
//go:norace
func (d *Segments) LeadsOn(addr uint64) bool {
	if addr == 0 {
		return false
	}
	if s, _ := d.types.Model.Object(addr); s != nil {
		return true
	}
	for _, mod := range d.types.Model.Modules {
		if addr-mod.Data < mod.EData-mod.Data || addr-mod.BSS < mod.EBSS-mod.BSS {
			return true
		}
	}
	return false
}

// At returns the index in Statics of the one that contains an address, -1 if there is none.
func (d *Segments) At(addr uint64) int {
	lo, hi := 0, len(d.Statics)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if d.Statics[mid].Addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 && addr < d.Statics[lo-1].Addr+uint64(d.Statics[lo-1].Size) {
		return lo - 1
	}
	return -1
}

// References visits the references that the collector's mask shows in a Static and that lead on,
// with the addresses of their words.
//
//go:norace
func (d *Segments) References(s *Static, visit func(at, to uint64)) {
	for at, to := range s.pointers {
		if d.LeadsOn(to) {
			visit(at, to)
		}
	}
}
