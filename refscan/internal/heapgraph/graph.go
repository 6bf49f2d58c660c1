package heapgraph

import (
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/fmterr"
	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// Graph is the heap of a frozen process in the course of being explained.
type Graph struct {
	m     *goruntime.Model
	names Names

	mainModule string // import path of the main module

	types   *typeTable
	offsets offsets
	statics []static // package variables and compiler-made data, by address
	pieces  []carved // typed parts of compiler-made data
	pieceAt map[uint64]int32
	stacks  []stack
	special []goruntime.Special
	vars    map[uint64][]activeVar // by pc

	marked bitset
	typing typings

	confused bool // infer gave up
	maxTree  int  // of the report
	taskSize int  // how many objects a goroutine gathers from at a time
}

// static is memory of the data segments that references may lead through.
type static struct {
	debuginfo.Global        // Addr is that of the process
	typ              *Type  // nil if compiler-made, or idle
	mem              []byte // nil if it holds no pointers
	mask             []byte // pointer words of the whole segment
	maskBase         uint64 // address that bit 0 of mask stands for
	idle             bool   // no word of it leads on, as with most variables of a program: it needs no type
}

// A carved piece is compiler-made data that a reference gives a type and a size, such as the array
// behind a package variable that is a slice literal. The linker keeps no symbols for such data.
type carved struct {
	typing typing
	mem    []byte
	addr   uint64
}

// carve returns the piece that a reference describes, nil if it leads to no unnamed data.
func (g *Graph) carve(e edge) *carved {
	if e.typ == nil || e.size == 0 || !e.typ.HasPointers() {
		return nil
	}
	i := g.staticAt(e.to)
	if i < 0 || g.statics[i].typ != nil || g.statics[i].idle {
		return nil
	}
	s := &g.statics[i]
	off := e.to - s.Addr
	if e.size > uint64(len(s.mem))-off {
		return nil
	}
	if e.typ.index == 0 {
		return nil
	}
	return &carved{typing: typing{typ: e.typ.index, form: e.form, rank: e.rank}, mem: s.mem[off : off+e.size], addr: e.to}
}

// offsets are the fields of the runtime's containers.
type offsets struct {
	mapUsed, mapDirPtr, mapDirLen      uint64
	tableIndex, tableGroups, tableMask uint64
	chanBuf, chanElems                 uint64
}

// Build reads what the three passes need and runs the first two. mainModule is the import path of the
// program's main module, "" if it is not known.
func Build(m *goruntime.Model, names Names, mainModule string) (*Graph, error) {
	g := &Graph{maxTree: maxTree, taskSize: taskSize, mainModule: mainModule, m: m, names: names, types: newTypeTable(m, names), vars: make(map[uint64][]activeVar), pieceAt: make(map[uint64]int32)}
	if err := g.loadOffsets(); err != nil {
		return nil, err
	}
	g.loadStatics()
	if err := g.mark(); err != nil {
		return nil, fmterr.Errorf("marking: %w", err)
	}
	g.infer()
	return g, nil
}

func (g *Graph) loadOffsets() error {
	const maps = "internal/runtime/maps."
	o := &g.offsets
	for _, f := range []struct {
		to         *uint64
		typ, field string
	}{
		{&o.mapUsed, maps + "Map", "used"},
		{&o.mapDirPtr, maps + "Map", "dirPtr"},
		{&o.mapDirLen, maps + "Map", "dirLen"},
		{&o.tableIndex, maps + "table", "index"},
		{&o.tableGroups, maps + "table", "groups.data"},
		{&o.tableMask, maps + "table", "groups.lengthMask"},
		{&o.chanBuf, "runtime.hchan", "buf"},
		{&o.chanElems, "runtime.hchan", "dataqsiz"},
	} {
		off, err := g.m.FieldOffset(f.typ, f.field)
		if err != nil {
			return err
		}
		*f.to = off
	}
	return nil
}

// loadStatics lists the package variables and other symbols that can hold pointers.
func (g *Graph) loadStatics() {
	globals := g.names.Globals()
	g.statics = make([]static, 0, len(globals))
	for _, gl := range globals {
		s := static{Global: gl}
		s.Addr += g.m.Bias()
		if gl.Size <= 0 {
			continue
		}
		for _, mod := range g.m.Modules {
			switch {
			case mod.Data <= s.Addr && s.Addr < mod.EData:
				s.mask, s.maskBase = mod.DataMask, mod.Data
			case mod.BSS <= s.Addr && s.Addr < mod.EBSS:
				s.mask, s.maskBase = mod.BSSMask, mod.BSS
			}
		}
		if s.mask == nil {
			continue
		}
		if s.mem = g.m.Mem.Bytes(s.Addr, uint64(gl.Size)); s.mem == nil {
			continue
		}
		if s.idle = !g.anyLeadsOn(&s); !s.idle {
			s.typ = g.staticType(&gl)
		}
		g.statics = append(g.statics, s)
	}
	g.nameGaps()
}

// staticType returns the type of a variable or symbol, nil if it has none.
func (g *Graph) staticType(gl *debuginfo.Global) *Type {
	if t := g.types.byID(gl.Type); t != nil {
		return t
	}
	for _, known := range compilerMade {
		if strings.Contains(gl.Name, known.symbol) {
			return g.types.named(known.typ)
		}
	}
	return nil
}

// compilerMade are the types of symbols that the compiler makes for type assertions and switches, with the caches of their
// results (go1.26 and go1.27 cmd/compile/internal/ssagen/ssa.go, dottype1; cmd/compile/internal/walk/switch.go).
var compilerMade = []struct{ symbol, typ string }{
	{"..typeAssert.", "internal/abi.TypeAssert"},
	{"..interfaceSwitch.", "internal/abi.InterfaceSwitch"},
}

// unnamedData names memory of the data segments that no symbol covers.
const unnamedData = "runtime.(unnamed data)"

// unnamedVariables names all variables of packages where there is no debug information.
const unnamedVariables = "(unnamed global)"

// nameGaps adds the stretches between symbols where the collector's mask shows pointers: the linker
// keeps no symbol for some of the compiler's own data.
func (g *Graph) nameGaps() {
	var gaps []static
	for _, mod := range g.m.Modules {
		for _, seg := range []static{
			{Global: debuginfo.Global{Addr: mod.Data, Size: int64(mod.EData - mod.Data)}, mask: mod.DataMask, maskBase: mod.Data},
			{Global: debuginfo.Global{Addr: mod.BSS, Size: int64(mod.EBSS - mod.BSS)}, mask: mod.BSSMask, maskBase: mod.BSS},
		} {
			end := seg.Addr + uint64(seg.Size)
			at := seg.Addr
			next := 0
			for next < len(g.statics) && g.statics[next].Addr < seg.Addr {
				next++
			}
			for at < end {
				stop := end
				if next < len(g.statics) && g.statics[next].Addr < end {
					stop = g.statics[next].Addr
				}
				if gap := seg; stop > at {
					gap.Name, gap.Package = unnamedData, "runtime"
					if g.nameless() {
						gap.Name, gap.Package = unnamedVariables, ""
					}
					gap.Addr, gap.Size = at, int64(stop-at)
					if gap.mem = g.m.Mem.Bytes(at, stop-at); gap.mem != nil && gap.hasPointers() {
						gap.idle = !g.anyLeadsOn(&gap)
						gaps = append(gaps, gap)
					}
				}
				if stop == end {
					break
				}
				at = max(at, stop+uint64(g.statics[next].Size))
				next++
			}
		}
	}
	g.statics = append(g.statics, gaps...)
	sort.SliceStable(g.statics, func(i, j int) bool { return g.statics[i].Addr < g.statics[j].Addr })
}

// hasPointers reports whether the collector's mask has a bit in the memory.
func (s *static) hasPointers() bool {
	for range s.pointers {
		return true
	}
	return false
}

// pointers yields the words that the collector's mask shows: their addresses, and what they hold.
//
//go:noinline
func (s *static) pointers(yield func(at, to uint64) bool) {
	for off := uint64(0); off+8 <= uint64(len(s.mem)); off += 8 {
		if goruntime.MaskBit(s.mask, (s.Addr+off-s.maskBase)/8) && !yield(s.Addr+off, word(s.mem, off)) {
			return
		}
	}
}

// anyLeadsOn reports whether one of the words that the collector's mask shows does.
func (g *Graph) anyLeadsOn(s *static) bool {
	for _, to := range s.pointers {
		if g.leadsOn(to) {
			return true
		}
	}
	return false
}

// leadsOn reports whether an address is that of an object or lies in a data segment. Other references of a variable, such as
// those of literals to read-only data, lead nowhere.
func (g *Graph) leadsOn(addr uint64) bool {
	if addr == 0 {
		return false
	}
	if s, _ := g.m.Object(addr); s != nil {
		return true
	}
	for _, mod := range g.m.Modules {
		if addr-mod.Data < mod.EData-mod.Data || addr-mod.BSS < mod.EBSS-mod.BSS {
			return true
		}
	}
	return false
}

// staticAt returns the index of the static that holds an address, -1 if there is none.
func (g *Graph) staticAt(addr uint64) int {
	lo, hi := 0, len(g.statics)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if g.statics[mid].Addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 && addr < g.statics[lo-1].Addr+uint64(g.statics[lo-1].Size) {
		return lo - 1
	}
	return -1
}
