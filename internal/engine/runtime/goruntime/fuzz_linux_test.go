package goruntime_test

import (
	"runtime"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/imagetest"
)

// FuzzModel loads the runtime model from damaged memory. Every process of the fuzzer records the
// memory of the subject anew. Addresses differ between recordings, so inputs name places by number,
// and a crasher may need some tries to happen again. Panics count as failures, though refscan would
// turn them into errors.
func FuzzModel(f *testing.F) {
	p := imagetest.Record(f)
	places := p.Places(f)
	imagetest.Seed(f, len(places))
	f.Fuzz(func(t *testing.T, input []byte) {
		defer p.Mend()
		p.Damage(places, input)
		err := p.Bounded(func() {
			if m, err := goruntime.LoadStacks(image.NewSpace(p), p.Index, 0, runtime.GOARCH, p.Caller()); err == nil {
				for _, g := range m.Goroutines {
					_, _ = callsOf(m, g)
					m.Creator(g)
				}
			}
			m, err := p.Load(p)
			if err != nil {
				return
			}
			for _, g := range m.Goroutines {
				_ = m.LiveSlots(g, func(goruntime.Slot) {})
				m.Waits(g)
			}
			_ = goruntime.EachSpecial(m, func(goruntime.Special) {})
			_ = goruntime.AllocationRecords(m, func(_ uint32, bucket uint64) { _, _ = goruntime.AllocationStack(m, bucket) })
			for i := range m.Spans {
				span := &m.Spans[i]
				for k := range span.NElems {
					_ = m.PointerWords(span, span.FirstObj+k, func(uint64) {})
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// FuzzTables reads function tables, stack maps, inlining tables and type descriptors that consist
// of arbitrary bytes.
func FuzzTables(f *testing.F) {
	p := imagetest.Record(f)
	m, err := p.Load(p)
	if err != nil {
		f.Fatal(err)
	}
	md, ok := p.Index.GlobalByName("runtime.firstmoduledata")
	if !ok {
		f.Fatal("no module data")
	}
	var tables []image.Range
	for _, field := range []string{"funcnametab", "cutab", "filetab", "pctab", "pclntable", "ftab"} {
		off, err := imagetest.Offset(m, "runtime.moduledata", field)
		if err != nil {
			f.Fatal(err)
		}
		tables = append(tables, image.Range{Addr: p.U64(md.Addr + off), Len: p.U64(md.Addr + off + 8)})
	}
	for _, bounds := range [][2]string{{"gofunc", "epclntab"}, {"types", "etypes"}} {
		lo, err1 := imagetest.Offset(m, "runtime.moduledata", bounds[0])
		hi, err2 := imagetest.Offset(m, "runtime.moduledata", bounds[1])
		if err1 != nil || err2 != nil {
			f.Fatal(err1, err2)
		}
		tables = append(tables, image.Range{Addr: p.U64(md.Addr + lo), Len: p.U64(md.Addr+hi) - p.U64(md.Addr+lo)})
	}
	var pcs []uint64
	for _, fn := range p.Index.Funcs() {
		pcs = append(pcs, fn.Entry, fn.End-1)
	}
	var types []uint64
	for id := 1; id <= p.Index.NumTypes(); id++ {
		if addr := p.Index.Type(debuginfo.TypeID(id)).RuntimeAddr; addr != 0 {
			types = append(types, addr)
		}
	}
	for i := range tables {
		for _, with := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			f.Add(uint8(i), uint32(0), []byte{with, with, with, with, with, with, with, with}, uint16(1))
			f.Add(uint8(i), uint32(1<<12), []byte{with}, uint16(60000))
		}
	}
	f.Fuzz(func(t *testing.T, table uint8, off uint32, pattern []byte, times uint16) {
		defer p.Mend()
		r := tables[int(table)%len(tables)]
		at := r.Addr + uint64(off)%r.Len
		for n := 0; n <= int(times) && len(pattern) > 0 && at < r.End(); n++ {
			p.Put(at, pattern[:min(uint64(len(pattern)), r.End()-at)])
			at += uint64(len(pattern))
		}
		err := p.Bounded(func() {
			m, err := p.Load(p)
			if err != nil {
				return
			}
			for i := 0; i < len(pcs); i += 1 + len(pcs)/500 {
				if fn := m.FuncAt(pcs[i]); fn != nil {
					m.Line(fn, pcs[i])
					m.Calls(fn, pcs[i])
				}
			}
			for _, g := range m.Goroutines {
				_ = m.LiveSlots(g, func(goruntime.Slot) {})
			}
			for _, addr := range types {
				rt := m.Type(addr)
				if rt == nil {
					continue
				}
				m.TypeString(rt)
				if rt.PtrBytes <= 1<<20 {
					// callers of Mask know the object, which is as large as the type
					_, _ = m.Mask(rt)
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}
