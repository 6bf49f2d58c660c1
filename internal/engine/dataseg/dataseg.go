// Package dataseg has the data segments of a program: its package variables, and the data that the
// compiler made, with what the collector's masks and the types of variables say of them.
package dataseg

import (
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/heaptype"
)

// A Static is a package variable, data with a symbol that the compiler made, or a stretch between
// symbols.
type Static struct {
	debuginfo.Global                // Addr is that of the process
	HeapType         *heaptype.Type // nil if it has none, or is idle
	Mem              []byte         // its memory
	Mask             []byte         // pointer words of the whole segment
	MaskBase         uint64         // address that bit 0 of mask stands for
	Idle             bool           // no word of it leads on, as with most variables: see LeadsOn
}

// Segments are the data segments of a program. They do not change.
type Segments struct {
	Statics []Static // package variables and compiler-made data, by address
	types   *heaptype.Table
}

// Load lists the package variables, other symbols and stretches between them that hold pointers.
//
//go:norace
func Load(types *heaptype.Table) *Segments {
	d := &Segments{types: types}
	globals := d.types.Names.Globals()
	d.Statics = make([]Static, 0, len(globals))
	for _, gl := range globals {
		s := Static{Global: gl}
		s.Addr += d.types.Model.Bias()
		if gl.Size <= 0 {
			continue
		}
		for _, mod := range d.types.Model.Modules {
			switch {
			case mod.Data <= s.Addr && s.Addr < mod.EData:
				s.Mask, s.MaskBase = mod.DataMask, mod.Data
			case mod.BSS <= s.Addr && s.Addr < mod.EBSS:
				s.Mask, s.MaskBase = mod.BSSMask, mod.BSS
			}
		}
		if s.Mask == nil {
			continue
		}
		if s.Mem = d.types.Model.Mem.Bytes(s.Addr, uint64(gl.Size)); s.Mem == nil {
			continue
		}
		if s.Idle = !d.anyLeadsOn(&s); !s.Idle {
			s.HeapType = d.staticType(&gl)
		}
		d.Statics = append(d.Statics, s)
	}
	d.nameGaps()
	return d
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

// UnnamedData names memory of the data segments that no symbol covers.
const UnnamedData = "runtime.(unnamed data)"

// unnamedVariables names all variables of packages where there is no debug information.
const unnamedVariables = "(unnamed global)"

// nameGaps adds the stretches between symbols where the collector's mask shows pointers: the linker
// keeps no symbol for some of the compiler's own data.
func (d *Segments) nameGaps() {
	var gaps []Static
	for _, mod := range d.types.Model.Modules {
		for _, seg := range []Static{
			{Global: debuginfo.Global{Addr: mod.Data, Size: int64(mod.EData - mod.Data)}, Mask: mod.DataMask, MaskBase: mod.Data},
			{Global: debuginfo.Global{Addr: mod.BSS, Size: int64(mod.EBSS - mod.BSS)}, Mask: mod.BSSMask, MaskBase: mod.BSS},
		} {
			end := seg.Addr + uint64(seg.Size)
			at := seg.Addr
			next := 0
			for next < len(d.Statics) && d.Statics[next].Addr < seg.Addr {
				next++
			}
			for at < end {
				stop := end
				if next < len(d.Statics) && d.Statics[next].Addr < end {
					stop = d.Statics[next].Addr
				}
				if gap := seg; stop > at {
					gap.Name, gap.Package = UnnamedData, "runtime"
					if d.types.Nameless() {
						gap.Name, gap.Package = unnamedVariables, ""
					}
					gap.Addr, gap.Size = at, int64(stop-at)
					if gap.Mem = d.types.Model.Mem.Bytes(at, stop-at); gap.Mem != nil && gap.hasPointers() {
						gap.Idle = !d.anyLeadsOn(&gap)
						gaps = append(gaps, gap)
					}
				}
				if stop == end {
					break
				}
				at = max(at, stop+uint64(d.Statics[next].Size))
				next++
			}
		}
	}
	sort.Slice(gaps, func(i, j int) bool { return gaps[i].Addr < gaps[j].Addr })
	d.Statics = inOrder(d.Statics, gaps)
}

// inOrder merges two lists that are in the order of addresses. Those of a come first where both
// have one.
func inOrder(a, b []Static) []Static {
	all := make([]Static, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0].Addr < a[0].Addr {
			all, b = append(all, b[0]), b[1:]
		} else {
			all, a = append(all, a[0]), a[1:]
		}
	}
	return append(append(all, a...), b...)
}

// hasPointers reports whether the collector's mask has a bit in the memory.
func (s *Static) hasPointers() bool {
	for range s.pointers {
		return true
	}
	return false
}

// pointers yields the words that the collector's mask shows: their addresses, and what they hold.
//
//go:norace
func (s *Static) pointers(yield func(at, to uint64) bool) {
	for off := uint64(0); off+8 <= uint64(len(s.Mem)); off += 8 {
		if goruntime.MaskBit(s.Mask, (s.Addr+off-s.MaskBase)/8) && !yield(s.Addr+off, heaptype.Word(s.Mem, off)) {
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

// At returns the index in Statics of the one that an address lies in, -1 if there is none.
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
