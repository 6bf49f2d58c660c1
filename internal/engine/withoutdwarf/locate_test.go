package withoutdwarf

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
	"github.com/leakgate/leakgate/internal/require"
)

// memory is the memory of a process, in one piece.
type memory struct {
	base  uint64
	bytes []byte
}

func (m *memory) Copy(ranges []image.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		if off := r.Addr - m.base; off < uint64(len(m.bytes)) {
			out[i] = m.bytes[off:min(off+r.Len, uint64(len(m.bytes)))]
		}
	}
	return out, nil
}

func (m *memory) put(addr uint64, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(m.bytes[addr-m.base+8*uint64(i):], w)
	}
}

// Addresses in the memory that program makes.
const (
	base      = 0x10000
	module    = base + 0x100
	bss       = base + 0x1000
	heapAt    = bss + 0x10
	allspans  = heapAt + 65864
	sweepgen  = heapAt + 65856
	allgs     = bss + 0x18000
	ebss      = bss + 0x19000
	spanList  = base + 0x20000
	spanA     = base + 0x20100
	spanB     = base + 0x20200
	gList     = base + 0x21000
	gA        = base + 0x30000
	gB        = base + 0x30400
	bareSpans = base + 0x20800 // a list without the span that holds the goroutines
	size      = 0x40000
)

// program returns a process with two spans and two goroutines, with the layouts of Go 1.26.
func program(t *testing.T) (*memory, Process) {
	t.Helper()
	m := &memory{base: base, bytes: make([]byte, size)}
	table := parseLayouts(tables[26])
	at := func(typ, field string) uint64 {
		for _, f := range table[typ].Fields {
			if f.Name == field {
				return uint64(f.Offset)
			}
		}
		t.Fatalf("no %s.%s", typ, field)
		return 0
	}
	const md, span, g = "runtime.moduledata", "runtime.mspan", "runtime.g"
	for field, v := range map[string]uint64{"minpc": 0x1000, "maxpc": 0x2000, "bss": bss, "ebss": ebss, "types": 0x3000, "etypes": 0x4000} {
		m.put(module+at(md, field), v)
	}
	for s, start := range map[uint64]uint64{spanA: gA, spanB: 0x80000} {
		m.put(s+at(span, "startAddr"), start)
		m.put(s+at(span, "npages"), 1)
		m.put(s+at(span, "elemsize"), 512)
		m.put(s+at(span, "limit"), start+8192)
		binary.LittleEndian.PutUint32(m.bytes[s-base+at(span, "sweepgen"):], 6)
		m.bytes[s-base+at(span, "state")] = rtlayout.SpanInUse
	}
	m.put(spanList, spanA, spanB)
	m.put(allspans, spanList, 2, 2)
	binary.LittleEndian.PutUint32(m.bytes[sweepgen-base:], 6)
	for _, a := range []uint64{gA, gB} {
		m.put(a+at(g, "stack.lo"), 0x50000, 0x52000)
	}
	m.put(gList, gA, gB)
	m.put(allgs, gList, 2, 64)
	return m, Process{GoVersion: "go1.26.8", Module: module, WriteBarrier: bss, G: gB, PC: 0x1800}
}

func TestLocate(t *testing.T) {
	m, p := program(t)
	n, err := New(m, p)
	require.NoError(t, err)
	for name, want := range map[string]uint64{
		"runtime.mheap_": heapAt, "runtime.allgs": allgs, "runtime.firstmoduledata": module, "runtime.gcphase": bss,
	} {
		g, ok := n.GlobalByName(name)
		require.True(t, ok, name)
		require.Equal(t, want, g.Addr, name)
	}
	_, ok := n.GlobalByName("runtime.allfin")
	require.False(t, ok)

	for name, c := range map[string]struct {
		change func(m *memory, p *Process)
		want   string
	}{
		"no goroutines":        {func(m *memory, _ *Process) { m.put(allgs, 0) }, "0 variables could be the runtime's list of goroutines"},
		"others' goroutines":   {func(m *memory, _ *Process) { m.put(allgs, gList, 1, 64) }, "0 variables could be the runtime's list of goroutines"},
		"two lists":            {func(m *memory, _ *Process) { m.put(allgs+32, gList, 2, 2) }, "2 variables could be the runtime's list of goroutines"},
		"a bad status":         {func(m *memory, _ *Process) { m.put(gA+144, 0x2000) }, "0 variables could be the runtime's list of goroutines"},
		"a stack upside down":  {func(m *memory, _ *Process) { m.put(gA, 0x52000, 0x50000) }, "0 variables could be the runtime's list of goroutines"},
		"no spans":             {func(m *memory, _ *Process) { m.put(allspans, 0) }, "0 variables could be the runtime's heap"},
		"none of the caller's": {func(m *memory, _ *Process) { m.put(bareSpans, spanB); m.put(allspans, bareSpans, 1, 1) }, "0 variables could be the runtime's heap"},
		"out of step":          {func(m *memory, _ *Process) { m.put(sweepgen, 60) }, "0 variables could be the runtime's heap"},
		"two heaps": {func(m *memory, _ *Process) {
			m.put(allspans+64, spanList, 2, 2)
			m.put(sweepgen+64, 6)
		}, "2 variables could be the runtime's heap"},
		"list beyond memory":   {func(m *memory, _ *Process) { m.put(allspans, base+size-8, 2, 2) }, "0 variables could be the runtime's heap"},
		"absurd length":        {func(m *memory, _ *Process) { m.put(allspans, spanList, 1<<60, 1<<60) }, "0 variables could be the runtime's heap"},
		"plugin":               {func(m *memory, _ *Process) { m.put(module+584, module) }, "more than one module"},
		"another layout":       {func(_ *memory, p *Process) { p.PC = 0x2000 }, "not as the table of layouts says"},
		"variables of no size": {func(m *memory, _ *Process) { m.put(module+232, bss-8) }, "not as the table of layouts says"},
		"no module":            {func(_ *memory, p *Process) { p.Module = 0 }, "does not say where its runtime is"},
		"module elsewhere":     {func(_ *memory, p *Process) { p.Module = 8 }, "not readable"},
		"newer Go":             {func(_ *memory, p *Process) { p.GoVersion = "go1.28" }, "go1.28 are known from debug information only"},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := program(t)
			c.change(m, &p)
			_, err := New(m, p)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestDamagedMemory: whatever the memory holds, Names returns a result or an error and does not
// panic.
func TestDamagedMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		m, p := program(t)
		m.put(module+296, base, base+size) // all memory may hold type descriptors
		for range 2000 {
			m.put(base+8*r.Uint64N(size/8), base+r.Uint64N(size))
		}
		m.put(module+160, 0x1000, 0x2000)
		n, err := New(m, p)
		if err != nil {
			n = &Names{
				mem: image.NewSpace(m), types: make([]typeEntry, 1), lo: base, hi: base + size, mapTail: 64,
				byAddr: make(map[uint64]debuginfo.TypeID), byName: make(map[string]debuginfo.TypeID),
			}
		}
		for range 50 {
			n.Type(n.TypeAt(base + 8*r.Uint64N(size/8)))
		}
		for id := range min(n.NumTypes(), 2000) {
			n.Type(debuginfo.TypeID(id))
		}
	}
}
