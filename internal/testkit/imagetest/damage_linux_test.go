package imagetest_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// bench is a subject to damage, with the model of its undamaged image.
type bench struct {
	*subject
	t *testing.T
	m *goruntime.Model
}

// offsetOf returns the offset of a field of one of the runtime's structures.
func offsetOf(m *goruntime.Model, typ, field string) (uint64, error) {
	l := m.Fields()
	off, _ := l.Range(typ, field)
	return off, l.Err()
}

// off is offsetOf for a field that is there.
func (b *bench) off(typ, field string) uint64 {
	b.t.Helper()
	off, err := offsetOf(b.m, typ, field)
	require.NoError(b.t, err)
	return off
}

// addr returns the address of a variable.
func (b *bench) addr(variable string) uint64 {
	b.t.Helper()
	g, ok := b.Index.GlobalByName(variable)
	require.True(b.t, ok, variable)
	return g.Addr
}

// module returns the address of a field of the module data.
func (b *bench) module(field string) uint64 {
	return b.addr("runtime.firstmoduledata") + b.off("runtime.moduledata", field)
}

// fill overwrites every byte of a table of the module data with one value.
func (b *bench) fill(field string, with byte) {
	at := b.module(field)
	b.Put(b.U64(at), bytes.Repeat([]byte{with}, int(b.U64(at+8))))
}

// goroutine returns a goroutine that has a function on its stack.
func (b *bench) goroutine(function string) *goruntime.Goroutine {
	b.t.Helper()
	for _, g := range b.m.Goroutines {
		found := false
		_ = b.m.Frames(g, func(f *goruntime.Frame) error {
			found = found || f.Func.Name == function
			return nil
		})
		if found {
			return g
		}
	}
	require.Fail(b.t, "no goroutine is in "+function)
	return nil
}

// spans returns the addresses of the records of the spans in use that satisfy a condition.
func (b *bench) spans(is func(span uint64) bool) []uint64 {
	b.t.Helper()
	list := b.addr("runtime.mheap_") + b.off("runtime.mheap", "allspans")
	state := b.off("runtime.mspan", "state")
	var out []uint64
	for i := range b.U64(list + 8) {
		if span := b.U64(b.U64(list) + 8*i); b.U64(span+state)&0xff == 1 && is(span) {
			out = append(out, span)
		}
	}
	require.NotEmpty(b.t, out)
	return out
}

func (b *bench) withSpecials() []uint64 {
	specials := b.off("runtime.mspan", "specials")
	return b.spans(func(span uint64) bool { return b.U64(span+specials) != 0 })
}

// rtype returns the descriptor of the type with a name.
func (b *bench) rtype(name string) uint64 {
	b.t.Helper()
	id, ok := b.Index.TypeByName(name)
	require.True(b.t, ok, name)
	addr := b.Index.Type(id).RuntimeAddr
	require.NotZero(b.t, addr, name)
	return addr
}

// object returns the span and the number of the object at an address.
func (b *bench) object(addr uint64) (*goruntime.Span, uint32) {
	b.t.Helper()
	s, obj := b.m.Object(addr)
	require.NotNil(b.t, s)
	return s, obj
}

// function returns the address of a function.
func (b *bench) function(name string) uint64 {
	b.t.Helper()
	for _, f := range b.Index.Funcs() {
		if f.Name == name {
			return f.Entry
		}
	}
	require.Fail(b.t, "no function "+name)
	return 0
}

// A verdict checks the outcome of a scan of a damaged image.
type verdict func(t *testing.T, sound *attribute.Result, o outcome, stacks error)

// fails expects an error of the scan that contains a text.
func fails(text string) verdict {
	return func(t *testing.T, _ *attribute.Result, o outcome, _ error) {
		require.ErrorContains(t, o.err, text)
	}
}

// stacksFail expects an error from the account of stacks that contains a text; the scan does not
// read the damaged part.
func stacksFail(text string) verdict {
	return func(t *testing.T, sound *attribute.Result, o outcome, stacks error) {
		harmless(t, sound, o, stacks)
		require.ErrorContains(t, stacks, text)
	}
}

// missed expects a report whose audit says that more objects are alive than were reached.
func missed(t *testing.T, sound *attribute.Result, o outcome, _ error) {
	require.NoError(t, o.err)
	require.Greater(t, o.res.Totals.MissedObjects, sound.Totals.MissedObjects)
}

// untyped expects a complete report with fewer typed bytes.
func untyped(t *testing.T, sound *attribute.Result, o outcome, stacks error) {
	harmless(t, sound, o, stacks)
	require.Less(t, o.res.Totals.TypedBytes, sound.Totals.TypedBytes)
}

// harmless expects a complete report: the damaged part does not decide which objects are alive.
func harmless(t *testing.T, sound *attribute.Result, o outcome, _ error) {
	require.NoError(t, o.err)
	require.Equal(t, sound.Totals.AttributedObjects, o.res.Totals.AttributedObjects)
	require.Equal(t, sound.Totals.MissedObjects, o.res.Totals.MissedObjects)
}

// warns expects a report with a warning that contains a text.
func warns(text string) verdict {
	return func(t *testing.T, _ *attribute.Result, o outcome, _ error) {
		require.NoError(t, o.err)
		require.Contains(t, strings.Join(o.res.Warnings, "\n"), text)
	}
}

const nowhere = 0xdead_beef_0000

var damages = []struct {
	name   string
	damage func(b *bench)
	want   verdict
}{
	// Truncated images.
	{"no heap", func(b *bench) {
		b.Unmap(image.Range{Addr: b.m.Spans[0].Base, Len: 1 << 30})
	}, fails("a heap span: ")},
	{"half a data segment", func(b *bench) {
		b.Unmap(image.Range{Addr: (b.m.Modules[0].Data + b.m.Modules[0].EData) / 2, Len: 8})
	}, fails("of the module data")},
	{"no function table", func(b *bench) {
		b.Unmap(image.Range{Addr: b.U64(b.module("pclntable")), Len: 8})
	}, fails("of the module data")},
	{"a stack that ends early", func(b *bench) {
		g := b.goroutine("main.local")
		b.Unmap(image.Range{Addr: g.Hi - 64, Len: 64})
	}, fails("of a stack can be read")},
	{"no memory at all", func(b *bench) {
		b.Unmap(image.Range{Addr: 0, Len: 1<<64 - 1})
	}, fails("not readable")},

	// Module data.
	{"modules in a circle", func(b *bench) {
		b.PutU64(b.module("next"), b.addr("runtime.firstmoduledata"))
	}, fails("the list of modules does not end")},
	{"absurd table", func(b *bench) { b.PutU64(b.module("pctab")+8, 1<<62) }, fails("beyond belief")},
	{"absurd data segment", func(b *bench) { b.PutU64(b.module("edata"), 1<<63) }, fails("beyond belief")},
	{"text upside down", func(b *bench) { b.PutU64(b.module("etext"), 1) }, fails("impossible bounds")},
	{"absurd pointer mask", func(b *bench) {
		b.PutU32(b.module("gcdatamask")+b.off("runtime.bitvector", "n"), 1<<31-1)
	}, fails("not readable")},
	{"data moved", func(b *bench) { b.PutU64(b.module("bss"), b.U64(b.module("bss"))+8) }, missed},

	// Function tables.
	{"frame sizes zero", func(b *bench) { b.fill("pctab", 0) }, fails("has no frame size")},
	{"frame sizes endless", func(b *bench) { b.fill("pctab", 0xff) }, fails("has no frame size")},
	{"frame sizes that do not add up", func(b *bench) { b.fill("pctab", 0x02) }, fails("the stack of a goroutine")},
	{"frame sizes negative", func(b *bench) { b.fill("pctab", 0x7f) }, fails("the stack of a goroutine")},
	{"function records zero", func(b *bench) { b.fill("pclntable", 0) }, fails("no function holds the pc")},
	{"function records with all there can be", func(b *bench) { b.fill("pclntable", 0xff) }, fails("the stack of a goroutine")},
	{"names without end, and calls inlined into themselves", func(b *bench) {
		b.fill("funcnametab", 'x')
		b.fill("filetab", 'y')
		lo := b.U64(b.module("gofunc"))
		b.Put(lo, make([]byte, b.U64(b.module("epclntab"))-lo))
	}, missed},
	{"function table without order", func(b *bench) { b.fill("ftab", 0xa5) }, fails("no function holds the pc")},
	{"stack maps claim everything", func(b *bench) {
		lo := b.U64(b.module("gofunc"))
		b.Put(lo, bytes.Repeat([]byte{0xff, 0xff, 0xff, 0x0f}, int(b.U64(b.module("epclntab"))-lo)/4))
	}, fails("the stack of a goroutine")},
	{"no stack maps", func(b *bench) {
		lo := b.U64(b.module("gofunc"))
		b.Put(lo, make([]byte, b.U64(b.module("epclntab"))-lo))
	}, missed},

	// Goroutines.
	{"absurd number of goroutines", func(b *bench) { b.PutU64(b.addr("runtime.allgs")+8, 1<<60) }, fails("the program claims")},
	{"more goroutines than there are", func(b *bench) { b.PutU64(b.addr("runtime.allgs")+8, 1<<22) }, fails("goroutines: ")},
	{"one goroutine twice", func(b *bench) {
		list := b.U64(b.addr("runtime.allgs"))
		b.PutU64(list, b.goroutine("main.local").Addr)
	}, fails("two goroutines have the same stack")},
	{"mid-switch: stack pointer of another stack", func(b *bench) {
		b.PutU64(b.goroutine("main.local").Addr+b.off("runtime.g", "sched.sp"), b.goroutine("main.panicking").SP)
	}, fails("impossible stack")},
	{"mid-switch: code of another place", func(b *bench) {
		b.PutU64(b.goroutine("main.local").Addr+b.off("runtime.g", "sched.pc"), b.function("main.fill")+100)
	}, fails("the stack of a goroutine")},
	{"mid-switch: code nowhere", func(b *bench) {
		b.PutU64(b.goroutine("main.local").Addr+b.off("runtime.g", "sched.pc"), nowhere)
	}, fails("no function holds the pc")},
	{"mid-switch: no stack", func(b *bench) {
		b.PutU64(b.goroutine("main.local").Addr+b.off("runtime.g", "stack.hi"), 0)
	}, fails("impossible stack")},
	{"running without a record", func(b *bench) {
		b.PutU32(b.goroutine("main.local").Addr+b.off("runtime.g", "atomicstatus"), 2)
	}, warns("scanned conservatively")},
	{"absurd stack", func(b *bench) {
		b.PutU64(b.goroutine("main.local").Addr+b.off("runtime.g", "stack.hi"), 1<<39)
	}, fails("stack")},
	{"return addresses in a circle", func(b *bench) {
		g := b.goroutine("main.local")
		for a := g.SP; a+8 <= g.Hi; a += 8 {
			b.PutU64(a, g.PC)
		}
	}, fails("the stack of a goroutine")},
	{"deferred calls in a circle of one", func(b *bench) {
		d := b.U64(b.goroutine("main.local").Addr + b.off("runtime.g", "_defer"))
		require.NotZero(b.t, d)
		b.PutU64(d+b.off("runtime._defer", "link"), d)
	}, fails("the list of deferred calls does not end")},
	{"deferred calls in a circle of many", func(b *bench) {
		first := b.U64(b.goroutine("main.local").Addr + b.off("runtime.g", "_defer"))
		link := b.off("runtime._defer", "link")
		last, n := first, 0
		for next := first; next != 0; next = b.U64(next + link) {
			last = next
			n++
		}
		require.Greater(b.t, n, 4)
		b.PutU64(last+link, b.U64(first+link))
	}, fails("the list of deferred calls does not end")},
	{"deferred calls nowhere", func(b *bench) {
		b.PutU64(b.goroutine("main.local").Addr+b.off("runtime.g", "_defer"), nowhere)
	}, fails("not readable")},
	{"waits in a circle", func(b *bench) {
		sg := b.U64(b.goroutine("main.start.func2").Addr + b.off("runtime.g", "waiting"))
		require.NotZero(b.t, sg)
		b.PutU64(sg+b.off("runtime.sudog", "waitlink"), sg)
	}, harmless},
	{"waits for a value of a type without end", func(b *bench) {
		sg := b.U64(b.goroutine("main.start.func2").Addr + b.off("runtime.g", "waiting"))
		c := b.U64(sg + b.off("runtime.sudog", "c.maybeTraceablePtr.vu"))
		require.NotZero(b.t, c)
		b.PutU64(c+b.off("runtime.hchan", "elemtype"), b.rtype("main.masked"))
	}, harmless},
	{"threads in a circle", func(b *bench) {
		m := b.U64(b.addr("runtime.allm"))
		b.PutU64(m+b.off("runtime.m", "alllink"), m)
	}, func(t *testing.T, _ *attribute.Result, o outcome, stacks error) {
		require.NoError(t, o.err)
		require.ErrorContains(t, stacks, "the list of threads does not end")
	}},
	{"free stacks in a circle", func(b *bench) {
		pool, ok := b.Index.GlobalByName("runtime.stackpool")
		require.True(b.t, ok)
		elem := b.Index.Type(b.Index.Type(b.Index.Type(pool.Type).Elem).ID)
		n := 0
		for at := pool.Addr; at < pool.Addr+uint64(pool.Size); at += uint64(elem.Size) {
			for w := at; w < at+uint64(elem.Size); w += 8 {
				span := b.U64(w)
				if span == b.U64(w+8) && span != 0 || b.U64(span+b.off("runtime.mspan", "npages")) == 4 {
					b.PutU64(span+b.off("runtime.mspan", "next"), span)
					n++
				}
			}
		}
		require.Positive(b.t, n)
	}, stacksFail("the list of spans does not end")},

	// Spans.
	{"absurd number of spans", func(b *bench) {
		b.PutU64(b.addr("runtime.mheap_")+b.off("runtime.mheap", "allspans")+8, 1<<50)
	}, fails("the heap claims")},
	{"more spans than the list has", func(b *bench) {
		b.PutU64(b.addr("runtime.mheap_")+b.off("runtime.mheap", "allspans")+8, 1<<27)
	}, fails("the list of 134217728 spans cannot be read")},
	{"span of a terabyte", func(b *bench) {
		span := b.spans(func(uint64) bool { return true })[0]
		b.PutU64(span+b.off("runtime.mspan", "npages"), 1<<27)
	}, fails("is damaged")},
	{"large pointer-free span of half a terabyte that agrees with itself", func(b *bench) {
		class, elems := b.off("runtime.mspan", "spanclass"), b.off("runtime.mspan", "nelems")
		span := b.spans(func(s uint64) bool { return b.U64(s+class)&1 != 0 && b.U64(s+elems)&0xffff == 1 })[0]
		b.PutU64(span+b.off("runtime.mspan", "startAddr"), 1<<46)
		b.PutU64(span+b.off("runtime.mspan", "npages"), 1<<26)
		b.PutU64(span+b.off("runtime.mspan", "elemsize"), 1<<39)
		b.PutU32(span+b.off("runtime.mspan", "divMul"), 0)
	}, fails("cannot be read")},
	{"one span twice", func(b *bench) {
		list := b.U64(b.addr("runtime.mheap_") + b.off("runtime.mheap", "allspans"))
		all := b.spans(func(uint64) bool { return true })
		for i := range uint64(1000) {
			if b.U64(list+8*i) == all[1] {
				b.PutU64(list+8*i, all[0])
			}
		}
	}, fails("two spans overlap")},
	{"objects of no size", func(b *bench) {
		b.PutU64(b.spans(func(uint64) bool { return true })[0]+b.off("runtime.mspan", "elemsize"), 0)
	}, fails("is damaged")},
	{"more objects than fit", func(b *bench) {
		at := b.spans(func(uint64) bool { return true })[0] + b.off("runtime.mspan", "nelems")
		b.PutU64(at, b.U64(at)|0xffff)
	}, fails("is damaged")},
	{"mark bits nowhere", func(b *bench) {
		b.PutU64(b.spans(func(uint64) bool { return true })[0]+b.off("runtime.mspan", "allocBits"), nowhere)
	}, fails("not readable")},
	{"everything marked", func(b *bench) {
		for _, span := range b.spans(func(uint64) bool { return true }) {
			n := b.U64(span+b.off("runtime.mspan", "nelems")) & 0xffff
			b.Put(b.U64(span+b.off("runtime.mspan", "allocBits")), bytes.Repeat([]byte{0xff}, int(n/8)))
		}
	}, missed},
	{"a freed span still referred to", func(b *bench) {
		node := b.U64(b.addr("main.chain"))
		for _, span := range b.spans(func(span uint64) bool {
			base := b.U64(span + b.off("runtime.mspan", "startAddr"))
			return base <= node && node < base+b.U64(span+b.off("runtime.mspan", "npages"))<<13
		}) {
			b.PutU64(span+b.off("runtime.mspan", "state"), 0)
		}
	}, missed},
	{"a span whose objects are free but referred to", func(b *bench) {
		s, _ := b.object(b.U64(b.addr("main.chain")))
		for _, span := range b.spans(func(span uint64) bool { return b.U64(span+b.off("runtime.mspan", "startAddr")) == s.Base }) {
			free := b.off("runtime.mspan", "freeindex")
			b.PutU64(span+free, b.U64(span+free)&^0xffff)
			b.Put(b.U64(span+b.off("runtime.mspan", "allocBits")), make([]byte, (s.NElems+7)/8))
		}
	}, missed},

	// Lists that hang on objects.
	{"specials in a circle", func(b *bench) {
		for _, span := range b.withSpecials() {
			first := b.U64(span + b.off("runtime.mspan", "specials"))
			b.PutU64(first+b.off("runtime.special", "next"), first)
		}
	}, fails("a list of specials does not end")},
	{"specials in a circle through other spans", func(b *bench) {
		spans := b.withSpecials()
		at := b.off("runtime.mspan", "specials")
		for i, span := range spans {
			last := b.U64(span + at)
			for b.U64(last+b.off("runtime.special", "next")) != 0 {
				last = b.U64(last + b.off("runtime.special", "next"))
			}
			b.PutU64(last+b.off("runtime.special", "next"), b.U64(spans[(i+1)%len(spans)]+at))
		}
	}, fails("special")},
	{"specials nowhere", func(b *bench) {
		b.PutU64(b.withSpecials()[0]+b.off("runtime.mspan", "specials"), nowhere)
	}, fails("a list of specials")},
	{"specials of the last span nowhere", func(b *bench) {
		last, base := uint64(0), uint64(0)
		for _, span := range b.withSpecials() {
			if at := b.U64(span + b.off("runtime.mspan", "startAddr")); at > base {
				last, base = span, at
			}
		}
		b.PutU64(last+b.off("runtime.mspan", "specials"), nowhere)
	}, fails("a list of specials")},
	{"a special beyond its span", func(b *bench) {
		for _, span := range b.withSpecials() {
			b.PutU64(b.U64(span+b.off("runtime.mspan", "specials"))+b.off("runtime.special", "offset"), 1<<31)
		}
	}, fails("a special points outside of its span")},
	{"queued finalizers in a circle", func(b *bench) {
		block := b.U64(b.addr("runtime.allfin"))
		require.NotZero(b.t, block)
		b.PutU64(block+b.off("runtime.finBlock", "alllink"), block)
	}, fails("the queue of finalizers")},
	{"absurd number of queued finalizers", func(b *bench) {
		b.PutU32(b.U64(b.addr("runtime.allfin"))+b.off("runtime.finBlock", "cnt"), 1<<31)
	}, fails("the queue of finalizers")},
	{"queued cleanups in a circle", func(b *bench) {
		block := b.U64(b.addr("runtime.gcCleanups") + b.off("runtime.cleanupQueue", "all"))
		require.NotZero(b.t, block)
		b.PutU64(block+b.off("runtime.cleanupBlock", "cleanupBlockHeader.alllink"), block)
	}, fails("the queue of cleanups")},

	// Types.
	{"a mask on demand that contains itself", func(b *bench) {
		b.maskOnDemand()
		// The last field is an array; its element type becomes main.masked itself.
		array := b.lastFieldType(b.rtype("main.masked"))
		b.PutU64(array+48, b.rtype("main.masked"))
	}, fails("does not end")},
	{"an array of itself", func(b *bench) {
		b.maskOnDemand()
		array := b.lastFieldType(b.rtype("main.masked"))
		b.PutU64(array+48, array)
	}, fails("does not end")},
	{"absurd number of fields", func(b *bench) {
		b.maskOnDemand()
		b.PutU64(b.rtype("main.masked")+64, 1<<60)
	}, fails("fields")},
	{"a type of a terabyte", func(b *bench) {
		b.maskOnDemand()
		b.PutU64(b.rtype("main.masked"), 1<<45)
		b.PutU64(b.rtype("main.masked")+8, 1<<45)
	}, fails("larger than the object")},
	{"a type without a mask", func(b *bench) {
		b.PutU64(b.rtype("main.wide")+32, nowhere)
	}, fails("not readable")},
	{"pointer types of themselves", func(b *bench) {
		for _, name := range []string{"*main.node", "*main.wide"} {
			b.PutU64(b.rtype(name)+48, b.rtype(name))
		}
	}, harmless},
	{"types named nowhere", func(b *bench) { b.PutU32(b.rtype("main.wide")+40, 1<<31-1) }, harmless},
	{"no type is what debug information says", func(b *bench) {
		for id := 1; id <= b.Index.NumTypes(); id++ {
			if t := b.Index.Type(debuginfo.TypeID(id)); t.RuntimeAddr != 0 && strings.HasPrefix(t.Name, "main.") {
				b.PutU32(t.RuntimeAddr+16, ^t.RuntimeHash)
			}
		}
	}, untyped},
	{"interface tables that are their own type", func(b *bench) {
		shapes := b.U64(b.addr("main.shapes"))
		for i := range uint64(2) {
			tab := b.U64(shapes + 16*i)
			b.PutU64(tab, tab)
			b.PutU64(tab+8, tab)
		}
	}, harmless},
	{"interface tables nowhere", func(b *bench) {
		shapes := b.U64(b.addr("main.shapes"))
		for i := range uint64(10) {
			b.PutU64(shapes+16*i, nowhere)
		}
	}, harmless},
	{"interfaces of a type that is an object", func(b *bench) {
		list := b.U64(b.addr("main.anything"))
		for i := range uint64(20) {
			b.PutU64(list+16*i, b.U64(b.addr("main.chain")))
		}
	}, harmless},

	// Objects.
	{"garbage pointers", func(b *bench) {
		b.PutU64(b.addr("main.chain"), b.m.Spans[0].Base-8)
		b.PutU64(b.addr("main.wides"), ^uint64(7))
		b.PutU64(b.addr("main.large"), b.U64(b.addr("main.large"))+1)
	}, missed},
	{"absurd slices and strings", func(b *bench) {
		for _, name := range []string{"main.wides", "main.shapes", "main.funcs", "main.anything", "main.pairs"} {
			b.PutU64(b.addr(name)+8, 1<<62)
			b.PutU64(b.addr(name)+16, 1<<62)
		}
		b.PutU64(b.U64(b.addr("main.chain"))+16, 1<<63)
	}, harmless},
	{"a list in a circle", func(b *bench) {
		node := b.U64(b.addr("main.chain"))
		b.PutU64(b.U64(node), node)
	}, missed},
	{"closures of no function", func(b *bench) {
		funcs := b.U64(b.addr("main.funcs"))
		b.PutU64(b.U64(funcs), nowhere)
		b.PutU64(b.U64(funcs+8), b.module("text"))
		b.PutU64(b.U64(funcs+16), b.U64(funcs+16))
	}, harmless},
	{"func values nowhere", func(b *bench) {
		funcs := b.U64(b.addr("main.funcs"))
		b.PutU64(funcs, nowhere)
		b.PutU64(funcs+8, b.U64(b.module("text")))
		b.PutU64(funcs+16, ^uint64(0))
	}, missed},
	{"a channel with an absurd buffer", func(b *bench) {
		b.PutU64(b.U64(b.addr("main.channel"))+b.off("runtime.hchan", "dataqsiz"), 1<<62)
	}, harmless},
	{"a channel that is its own buffer", func(b *bench) {
		c := b.U64(b.addr("main.channel"))
		b.PutU64(c+b.off("runtime.hchan", "buf"), c)
	}, func(t *testing.T, _ *attribute.Result, o outcome, _ error) { require.NoError(t, o.err) }},
	{"maps with absurd counts", func(b *bench) {
		used := b.off("internal/runtime/maps.Map", "used")
		for _, name := range []string{"main.small", "main.large", "main.numbers"} {
			b.PutU64(b.U64(b.addr(name))+used, 1<<62)
		}
	}, func(t *testing.T, sound *attribute.Result, o outcome, stacks error) {
		harmless(t, sound, o, stacks)
		for _, root := range o.res.Roots {
			require.Less(t, root.Elems, int64(1000), root.Name)
			for _, c := range root.Children {
				require.Less(t, c.Objects, int64(1000), root.Name)
			}
		}
	}},
	{"a map with an absurd directory", func(b *bench) {
		b.PutU64(b.U64(b.addr("main.large"))+b.off("internal/runtime/maps.Map", "dirLen"), 1<<62)
	}, harmless},
	{"a map whose directory is absurdly deep", func(b *bench) {
		m := b.U64(b.addr("main.large"))
		depth := b.off("internal/runtime/maps.Map", "globalDepth")
		b.PutU64(m+depth, b.U64(m+depth)|0xffff)
	}, harmless},
	{"a map that is its own directory", func(b *bench) {
		m := b.U64(b.addr("main.large"))
		b.PutU64(m+b.off("internal/runtime/maps.Map", "dirPtr"), m)
	}, missed},
	{"a map with absurd tables", func(b *bench) {
		m := b.U64(b.addr("main.large"))
		dir, n := b.U64(m+b.off("internal/runtime/maps.Map", "dirPtr")), b.U64(m+b.off("internal/runtime/maps.Map", "dirLen"))
		require.Greater(b.t, n, uint64(0))
		for i := range n {
			b.PutU64(b.U64(dir+8*i)+b.off("internal/runtime/maps.table", "groups.lengthMask"), ^uint64(0))
		}
	}, harmless},
	{"a concurrent map of circles", func(b *bench) {
		b.circles()
	}, missed},
}

const trieNode = "internal/sync.indirect[interface {},interface {}]"

// circles makes all inner nodes of main.shared their own children.
func (b *bench) circles() {
	b.t.Helper()
	children := b.off(trieNode, "children")
	n := 0
	v, ok := b.Index.GlobalByName("main.shared")
	require.True(b.t, ok)
	for a := v.Addr; a < v.Addr+uint64(v.Size); a += 8 {
		node := b.U64(a)
		if s, _ := b.m.Object(node); s == nil {
			continue
		}
		for i := range uint64(16) {
			b.PutU64(node+children+8*i, node)
		}
		n++
	}
	require.Positive(b.t, n)
}

// maskOnDemand makes the scan build the pointer mask of main.masked anew.
func (b *bench) maskOnDemand() {
	b.t.Helper()
	t := b.rtype("main.masked")
	require.NotZero(b.t, b.U64(t+16)>>32&(1<<4), "the flag for masks on demand")
	b.PutU64(b.U64(t+32), 0)
}

// lastFieldType returns the type of the last field of a struct type.
func (b *bench) lastFieldType(t uint64) uint64 {
	fields, n := b.U64(t+56), b.U64(t+64)
	return b.U64(fields + 24*(n-1) + 8)
}

func TestDamage(t *testing.T) {
	s := record(t)
	sound := s.scan()
	require.NoError(t, sound.err)
	require.NoError(t, s.stacks())
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			s.Mend()
			m, err := s.load()
			require.NoError(t, err)
			_, err = typedheap.Build(m, s.Index, typedheap.Options{})
			require.NoError(t, err)
			d.damage(&bench{s, t, m})
			s.Copies = 0
			var o outcome
			var stacks error
			require.NoError(t, s.bounded(func() {
				o = s.scan()
				stacks = s.stacks()
			}))
			t.Log(o.err, stacks)
			if o.res != nil {
				t.Logf("%+v", o.res.Totals)
			}
			d.want(t, sound.res, o, stacks)
		})
	}
	s.Mend()
	again := s.scan()
	require.NoError(t, again.err)
	require.Equal(t, sound.res.Totals, again.res.Totals, "all damage was mended")
}
