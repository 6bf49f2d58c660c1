package gstate

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// fakeProcess is a process with only the structures that stack memory is read from. All of them lie
// in one piece of memory at fakeBase.
type fakeProcess struct {
	memory  []byte
	types   []debuginfo.Type // by TypeID - 1
	globals map[string]debuginfo.Global
	word    debuginfo.TypeID
}

const fakeBase = 0x10000

func (p *fakeProcess) Copy(ranges []image.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		if lo := int64(r.Addr) - fakeBase; lo >= 0 && lo < int64(len(p.memory)) {
			out[i] = p.memory[lo:min(lo+int64(r.Len), int64(len(p.memory)))]
		}
	}
	return out, nil
}

func (p *fakeProcess) GoVersion() string { return "go1.26.8" }

func (p *fakeProcess) Type(id debuginfo.TypeID) debuginfo.Type {
	if id == 0 {
		return debuginfo.Type{}
	}
	return p.types[id-1]
}

func (p *fakeProcess) TypeByName(name string) (debuginfo.TypeID, bool) {
	for _, t := range p.types {
		if t.Name == name {
			return t.ID, true
		}
	}
	return 0, false
}

func (p *fakeProcess) GlobalByName(name string) (debuginfo.Global, bool) {
	g, ok := p.globals[name]
	return g, ok
}

// field is a field of a type to define.
type field struct {
	name string
	id   debuginfo.TypeID
}

func (p *fakeProcess) add(t debuginfo.Type) debuginfo.TypeID {
	t.ID = debuginfo.TypeID(len(p.types) + 1)
	p.types = append(p.types, t)
	return t.ID
}

// of defines a struct of the runtime. Behind the given fields are the others that a layout asks
// for, which the reader does not use; those in a field of a field are fields of a struct.
func (p *fakeProcess) of(layout any, fields ...field) debuginfo.TypeID {
	typ := reflect.TypeOf(layout)
	name := typ.Field(0).Tag.Get("of")
	inner := make(map[string][]field)
	var order []string
	for i := 1; i < typ.NumField(); i++ {
		is, _, _ := strings.Cut(typ.Field(i).Tag.Get("is"), ",") // behind the comma is a size
		first, rest, nested := strings.Cut(is, ".")
		if first == "" || slices.ContainsFunc(fields, func(f field) bool { return f.name == first }) {
			continue
		}
		if _, ok := inner[first]; !ok {
			order = append(order, first)
			inner[first] = nil
		}
		if nested {
			inner[first] = append(inner[first], field{rest, p.word})
		}
	}
	for _, first := range order {
		id := p.word
		if in := inner[first]; len(in) > 0 {
			id = p.structOf("", in...)
		}
		fields = append(fields, field{first, id})
	}
	return p.structOf(name, fields...)
}

// structOf defines a struct; fields follow each other.
func (p *fakeProcess) structOf(name string, fields ...field) debuginfo.TypeID {
	t := debuginfo.Type{Name: name, Kind: reflect.Struct}
	for _, f := range fields {
		t.Fields = append(t.Fields, debuginfo.Field{Name: f.name, Offset: t.Size, Type: f.id})
		t.Size += p.Type(f.id).Size
	}
	return p.add(t)
}

func (p *fakeProcess) arrayOf(elem debuginfo.TypeID, n int64) debuginfo.TypeID {
	return p.add(debuginfo.Type{Kind: reflect.Array, Elem: elem, Len: n, Size: n * p.Type(elem).Size})
}

// rename gives a type a name that the reader does not look up.
func (p *fakeProcess) rename(name string) {
	id, _ := p.TypeByName(name)
	p.types[id-1].Name = "other"
}

// allot returns the address of n new bytes.
func (p *fakeProcess) allot(n int64) uint64 {
	at := fakeBase + uint64(len(p.memory))
	p.memory = append(p.memory, make([]byte, (n+7)&^7)...)
	return at
}

func (p *fakeProcess) global(name string, id debuginfo.TypeID) uint64 {
	addr := p.allot(p.Type(id).Size)
	p.globals[name] = debuginfo.Global{Name: name, Addr: addr, Type: id, Size: p.Type(id).Size}
	return addr
}

func (p *fakeProcess) put(addr uint64, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(p.memory[addr-fakeBase+8*uint64(i):], w)
	}
}

// fakeParts are the addresses of structures that tests damage.
type fakeParts struct{ thread, span, spanElem, stats, processors uint64 }

// newFakeProcess has one thread with stacks of 16 and 32 KiB, a goroutine that ended with a stack
// of 4 KiB, a cache with one stack of 8 KiB, a pool span with 3 of 16 stacks of 2 KiB in use, and
// one free large stack.
func newFakeProcess() (*fakeProcess, fakeParts) {
	p := &fakeProcess{globals: make(map[string]debuginfo.Global)}
	word := p.add(debuginfo.Type{Name: "uintptr", Size: 8})
	p.word = word
	array := func(id debuginfo.TypeID, n int64) debuginfo.TypeID { return p.arrayOf(id, n) }
	stack := p.structOf("runtime.stack", field{"lo", word}, field{"hi", word})
	g := p.of(rtlayout.Goroutine{}, field{"stack", stack}, field{"atomicstatus", word})
	m := p.of(rtlayout.Thread{}, field{"g0", word}, field{"gsignal", word}, field{"alllink", word}, field{"freelink", word}, field{"freeWait", word})
	sched := p.structOf("runtime.schedt", field{"freem", word}, field{"gcwaiting", word})
	processor := p.of(rtlayout.Processor{}, field{"mcache", word})
	freelist := p.structOf("runtime.stackfreelist", field{"list", word}, field{"size", word})
	cache := p.structOf("runtime.mcache", field{"stackcache", array(freelist, 4)})
	span := p.of(rtlayout.Span{}, field{"next", word}, field{"npages", word}, field{"elemsize", word}, field{"allocCount", word})
	list := p.structOf("runtime.mSpanList", field{"first", word}, field{"last", word})
	item := p.structOf("runtime.stackpoolItem", field{"span", list})
	pool := array(p.structOf("", field{"item", item}), 4)
	large := p.structOf("", field{"free", array(list, 35)})
	delta := p.structOf("runtime.heapStatsDelta", field{"inHeap", word}, field{"inStacks", word})
	heapStats := p.structOf("runtime.consistentHeapStats", field{"stats", array(delta, 3)})
	stats := p.structOf("runtime.mstats", field{"heapStats", heapStats}, field{"stacks_sys", word})
	slice := p.structOf("", field{"array", word}, field{"len", word}, field{"cap", word})

	newG := func(size, status uint64) uint64 {
		at := p.allot(p.Type(g).Size)
		p.put(at, 0x7000000, 0x7000000+size, status)
		return at
	}
	var parts fakeParts
	for _, name := range []string{"runtime.iscgo", "runtime.mheap_", "runtime.allgptr", "runtime.allglen", "runtime.firstmoduledata", "runtime.gcphase"} {
		p.global(name, word)
	}
	p.global("runtime.m0", m)
	p.put(p.global("runtime.gcrash", g), 0x8000000, 0x8000000+16384)
	parts.thread = p.allot(p.Type(m).Size)
	p.put(parts.thread, newG(16<<10, 0), newG(32<<10, 0))
	p.put(p.global("runtime.allm", word), parts.thread)
	ended := p.allot(p.Type(m).Size)
	p.put(ended, newG(16<<10, 0), 0, 0, 0, freeMRef) // has given its stack back
	p.put(p.global("runtime.sched", sched), ended)

	gs := p.allot(3 * 8)
	bare := p.allot(p.Type(g).Size) // a g that ended and has no stack
	p.put(bare, 0, 0, rtlayout.Dead)
	p.put(gs, newG(4096, rtlayout.Dead), newG(8192, 4), bare)
	p.put(p.global("runtime.allgs", slice), gs, 3, 3)

	mcache := p.allot(p.Type(cache).Size)
	p.put(mcache+2*16, 0, 8192)
	proc := p.allot(p.Type(processor).Size)
	p.put(proc, mcache)
	idle := p.allot(p.Type(processor).Size)
	procs := p.allot(3 * 8)
	p.put(procs, proc, idle, 0)
	parts.processors = p.global("runtime.allp", slice)
	p.put(parts.processors, procs, 3, 3)

	parts.span = p.allot(p.Type(span).Size)
	parts.spanElem = parts.span + 16
	p.put(parts.span, 0, 4, 2048, 3)
	p.put(p.global("runtime.stackpool", pool), parts.span, parts.span)
	big := p.allot(p.Type(span).Size)
	p.put(big, 0, 8, 65536, 0)
	p.put(p.global("runtime.stackLarge", large)+5*16, big, big)

	parts.stats = p.global("runtime.memstats", stats)
	// differences may be negative
	p.put(parts.stats, 1, 500_000, 2, 0, 3, ^uint64(99_999), 77)
	// memory comes in pages
	p.memory = append(p.memory, make([]byte, 16<<10-len(p.memory)%(16<<10))...)
	return p, parts
}

func (p *fakeProcess) reader() *stackReader {
	mem := image.NewSpace(p)
	return &stackReader{mem: mem, l: rtlayout.In(p, 0), goroutines: func() (all []uint64, err error) {
		list := p.globals["runtime.allgs"].Addr
		for i := range mem.U64(list + 8) {
			all = append(all, mem.U64(mem.U64(list)+8*i))
		}
		return all, mem.Err()
	}}
}

func TestStackMemory(t *testing.T) {
	p, _ := newFakeProcess()
	got, err := p.reader().read()
	require.NoError(t, err)
	assert.Equal(t, &StackMemory{
		Ended: StackSum{1, 4096}, G0: StackSum{1, 16384}, GSignal: StackSum{1, 32768}, Crash: StackSum{1, 16384},
		Cache: StackSum{1, 8192}, Pool: StackSum{13, 13 * 2048}, Large: StackSum{1, 65536},
		HeapBytes: 400_000, OSBytes: 77,
	}, got)
}

// TestStackMemoryOfForeignThreads: with cgo the scheduler stacks are not Go's.
func TestStackMemoryOfForeignThreads(t *testing.T) {
	p, _ := newFakeProcess()
	p.put(p.globals["runtime.iscgo"].Addr, 1)
	got, err := p.reader().read()
	require.NoError(t, err)
	assert.Zero(t, got.G0)
	assert.Equal(t, StackSum{1, 16384}, got.Threads)
	assert.Equal(t, StackSum{1, 32768}, got.GSignal)
}

// TestStackMemoryOfUnlimitedThread: the stack of the main thread may reach down to the lowest
// address.
func TestStackMemoryOfUnlimitedThread(t *testing.T) {
	p, a := newFakeProcess()
	p.put(p.globals["runtime.iscgo"].Addr, 1)
	g0 := binary.LittleEndian.Uint64(p.memory[a.thread-fakeBase:])
	p.put(g0, 1024, 0x7ffe_f3b0_d690)
	got, err := p.reader().read()
	require.NoError(t, err)
	assert.Equal(t, StackSum{1, 0}, got.Threads)
	p.put(p.globals["runtime.iscgo"].Addr, 0)
	_, err = p.reader().read()
	require.ErrorContains(t, err, "an impossible stack")
}

// TestDamagedStackMemory: a damaged image gives an error, no endless loop and no wrong figure.
func TestDamagedStackMemory(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*fakeProcess, fakeParts)
		text   string
	}{
		"a ring of threads":   {func(p *fakeProcess, a fakeParts) { p.put(a.thread+16, a.thread) }, "the list of threads does not end"},
		"a ring of spans":     {func(p *fakeProcess, a fakeParts) { p.put(a.span, a.span) }, "the list of spans does not end"},
		"a span without size": {func(p *fakeProcess, a fakeParts) { p.put(a.spanElem, 0) }, "is damaged"},
		"an odd size":         {func(p *fakeProcess, a fakeParts) { p.put(a.spanElem, 2047) }, "is damaged"},
		"too many in use":     {func(p *fakeProcess, a fakeParts) { p.put(a.spanElem+8, 17) }, "is damaged"},
		"many processors":     {func(p *fakeProcess, a fakeParts) { p.put(a.processors+8, 1<<40) }, "processors"},
		"a wild pointer":      {func(p *fakeProcess, a fakeParts) { p.put(a.thread, 0xdead0000) }, "not readable"},
		"a missing variable":  {func(p *fakeProcess, _ fakeParts) { delete(p.globals, "runtime.stackpool") }, "runtime.stackpool"},
		"a missing type":      {func(p *fakeProcess, _ fakeParts) { p.rename("runtime.mspan") }, "runtime.mspan"},
	} {
		t.Run(name, func(t *testing.T) {
			p, parts := newFakeProcess()
			c.damage(p, parts)
			_, err := p.reader().read()
			require.ErrorContains(t, err, c.text)
		})
	}
}
