package heapgraph

import (
	"fmt"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// Graph is the heap of a frozen process in the course of being explained.
type Graph struct {
	m       *goruntime.Model
	names   Names
	types   *typeTable
	offsets offsets
	statics []static // package variables and compiler-made data, by address
	stacks  []stack
	special []goruntime.Special
	vars    map[uint64][]activeVar // by pc

	marked bitset
	typing []typing // by object number
}

// static is memory of the data segments that references may lead through.
type static struct {
	debuginfo.Global        // Addr is that of the process
	typ              *Type  // nil if compiler-made
	mem              []byte // nil if it holds no pointers
	mask             []byte // pointer words of the whole segment
	maskBase         uint64 // address that bit 0 of mask stands for
	typing           typing // compiler-made data: found by inference
}

// offsets are the fields of the runtime's containers.
type offsets struct {
	mapUsed, mapDirPtr, mapDirLen      uint64
	tableIndex, tableGroups, tableMask uint64
	chanBuf, chanElems                 uint64
}

// Build reads what the three passes need and runs the first two.
func Build(m *goruntime.Model, names Names) (*Graph, error) {
	g := &Graph{m: m, names: names, types: newTypeTable(m, names), vars: make(map[uint64][]activeVar)}
	if err := g.loadOffsets(); err != nil {
		return nil, err
	}
	g.loadStatics()
	if err := g.mark(); err != nil {
		return nil, fmt.Errorf("marking: %w", err)
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
	for _, gl := range g.names.Globals() {
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
		s.typ = g.types.byID(gl.Type)
		g.statics = append(g.statics, s)
	}
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
