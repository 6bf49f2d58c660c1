package goruntime_test

import (
	"bytes"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// read reads all that a model of a program has.
func read(p *imagetest.Program) error {
	m, err := p.Load(p)
	if err != nil {
		return err
	}
	for _, g := range m.Goroutines {
		if err := m.LiveSlots(g, func(goruntime.Slot) {}); err != nil {
			return err
		}
		m.Waits(g)
	}
	if err := goruntime.EachSpecial(m, func(goruntime.Special) {}); err != nil {
		return err
	}
	for i := range m.Spans {
		s := &m.Spans[i]
		for k := range s.NElems {
			if !s.Allocated(k) {
				continue
			}
			if err := m.PointerWords(s, s.FirstObj+k, func(uint64) {}); err != nil {
				return err
			}
		}
	}
	var stack error
	err = goruntime.AllocationRecords(m, func(_ uint32, bucket uint64) {
		if _, failed := goruntime.AllocationStack(m, bucket); failed != nil {
			stack = failed
		}
	})
	if err != nil {
		return err
	}
	return stack
}

// A damage is done to the image of a program, and a part of the error that reading it gives.
type damage struct {
	name string
	do   func(b *imagetest.Bench)
	want string
}

// A damaged image gives an error that says what is wrong, and takes neither much time nor memory.
func TestDamage(t *testing.T) {
	require.NoError(t, read(imagetest.NewBench(t).Program))
	for _, list := range [][]damage{damagedModules, damagedStacks, damagedHeaps, damagedLists, damagedTypes} {
		for _, d := range list {
			t.Run(d.name, func(t *testing.T) {
				b := imagetest.NewBench(t)
				d.do(b)
				var err error
				require.NoError(t, b.Bounded(func() { err = read(b.Program) }))
				require.ErrorContains(t, err, d.want)
			})
		}
	}
	require.NoError(t, read(imagetest.NewBench(t).Program), "all damage was mended")
}

var damagedModules = []damage{
	// Truncated images.
	{"no heap", func(b *imagetest.Bench) {
		b.Unmap(image.Range{Addr: b.Model.Spans[0].Base, Len: 1 << 30})
	}, "a heap span: "},
	{"half a data segment", func(b *imagetest.Bench) {
		b.Unmap(image.Range{Addr: (b.Model.Modules[0].Data + b.Model.Modules[0].EData) / 2, Len: 8})
	}, "of the module data"},
	{"no function table", func(b *imagetest.Bench) {
		b.Unmap(image.Range{Addr: b.U64(b.Module("pclntable")), Len: 8})
	}, "of the module data"},
	{"a stack that ends early", func(b *imagetest.Bench) {
		g := b.Goroutine("main.local")
		b.Unmap(image.Range{Addr: g.Hi - 64, Len: 64})
	}, "of a stack can be read"},
	{"no memory at all", func(b *imagetest.Bench) {
		b.Unmap(image.Range{Addr: 0, Len: 1<<64 - 1})
	}, "not readable"},

	// Module data.
	{"modules in a circle", func(b *imagetest.Bench) {
		b.PutU64(b.Module("next"), b.Variable("runtime.firstmoduledata"))
	}, "the list of modules does not end"},
	{"absurd table", func(b *imagetest.Bench) { b.PutU64(b.Module("pctab")+8, 1<<62) }, "beyond belief"},
	{"absurd data segment", func(b *imagetest.Bench) { b.PutU64(b.Module("edata"), 1<<63) }, "beyond belief"},
	{"text upside down", func(b *imagetest.Bench) { b.PutU64(b.Module("etext"), 1) }, "impossible bounds"},
	{"absurd pointer mask", func(b *imagetest.Bench) {
		b.PutU32(b.Module("gcdatamask")+b.Offset("runtime.bitvector", "n"), 1<<31-1)
	}, "not readable"},

	// Function tables.
	{"frame sizes zero", func(b *imagetest.Bench) { b.Fill("pctab", 0) }, "has no frame size"},
	{"frame sizes endless", func(b *imagetest.Bench) { b.Fill("pctab", 0xff) }, "has no frame size"},
	{"frame sizes that do not add up", func(b *imagetest.Bench) { b.Fill("pctab", 0x02) }, " stack"},
	{"frame sizes negative", func(b *imagetest.Bench) { b.Fill("pctab", 0x7f) }, "leaves the stack"},
	{"function records zero", func(b *imagetest.Bench) { b.Fill("pclntable", 0) }, "no function holds the pc"},
	{"function records with all there can be", func(b *imagetest.Bench) { b.Fill("pclntable", 0xff) }, "no function holds the pc"},
	{"function table without order", func(b *imagetest.Bench) { b.Fill("ftab", 0xa5) }, "no function holds the pc"},
	{"stack maps claim everything", func(b *imagetest.Bench) {
		lo := b.U64(b.Module("gofunc"))
		b.Put(lo, bytes.Repeat([]byte{0xff, 0xff, 0xff, 0x0f}, int(b.U64(b.Module("epclntab"))-lo)/4))
	}, "not readable"},
}

var damagedStacks = []damage{
	{"absurd number of goroutines", func(b *imagetest.Bench) { b.PutU64(b.Variable("runtime.allgs")+8, 1<<60) }, "the program claims"},
	{"more goroutines than there are", func(b *imagetest.Bench) { b.PutU64(b.Variable("runtime.allgs")+8, 1<<22) }, "goroutines: "},
	{"one goroutine twice", func(b *imagetest.Bench) {
		list := b.U64(b.Variable("runtime.allgs"))
		b.PutU64(list, b.Goroutine("main.local").Addr)
	}, "two goroutines have the same stack"},
	{"mid-switch: stack pointer of another stack", func(b *imagetest.Bench) {
		b.PutU64(b.Goroutine("main.local").Addr+b.Offset("runtime.g", "sched.sp"), b.Goroutine("main.panicking").SP)
	}, "impossible stack"},
	{"mid-switch: code of another place", func(b *imagetest.Bench) {
		b.PutU64(b.Goroutine("main.local").Addr+b.Offset("runtime.g", "sched.pc"), b.Function("main.fill")+100)
	}, ""}, // the stack ends too early, or, with Go 1.27, holds no pc there
	{"mid-switch: code nowhere", func(b *imagetest.Bench) {
		b.PutU64(b.Goroutine("main.local").Addr+b.Offset("runtime.g", "sched.pc"), nowhere)
	}, "no function holds the pc"},
	{"mid-switch: no stack", func(b *imagetest.Bench) {
		b.PutU64(b.Goroutine("main.local").Addr+b.Offset("runtime.g", "stack.hi"), 0)
	}, "impossible stack"},
	{"absurd stack", func(b *imagetest.Bench) {
		b.PutU64(b.Goroutine("main.local").Addr+b.Offset("runtime.g", "stack.hi"), 1<<39)
	}, "stack"},
	{"return addresses in a circle", func(b *imagetest.Bench) {
		g := b.Goroutine("main.local")
		for a := g.SP; a+8 <= g.Hi; a += 8 {
			b.PutU64(a, g.PC)
		}
	}, "leaves the stack"},
	{"deferred calls in a circle of one", func(b *imagetest.Bench) {
		d := b.U64(b.Goroutine("main.local").Addr + b.Offset("runtime.g", "_defer"))
		require.NotZero(b.TB, d)
		b.PutU64(d+b.Offset("runtime._defer", "link"), d)
	}, "the list of deferred calls does not end"},
	{"deferred calls in a circle of many", func(b *imagetest.Bench) {
		first := b.U64(b.Goroutine("main.local").Addr + b.Offset("runtime.g", "_defer"))
		link := b.Offset("runtime._defer", "link")
		last, n := first, 0
		for next := first; next != 0; next = b.U64(next + link) {
			last = next
			n++
		}
		require.Greater(b.TB, n, 4)
		b.PutU64(last+link, b.U64(first+link))
	}, "the list of deferred calls does not end"},
	{"deferred calls nowhere", func(b *imagetest.Bench) {
		b.PutU64(b.Goroutine("main.local").Addr+b.Offset("runtime.g", "_defer"), nowhere)
	}, "not readable"},
}

// A goroutine that runs without a record of where is lost, which a warning says.
func TestRunningWithoutRecord(t *testing.T) {
	b := imagetest.NewBench(t)
	addr := b.Goroutine("main.local").Addr
	b.PutU32(addr+b.Offset("runtime.g", "atomicstatus"), 2)
	m, err := b.Load(b.Program)
	require.NoError(t, err)
	require.Len(t, m.Warnings, 1)
	assert.Contains(t, m.Warnings[0], "scanned conservatively")
	for _, g := range m.Goroutines {
		assert.Equal(t, g.Addr == addr, g.Lost())
	}
}
