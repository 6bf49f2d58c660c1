package gstate

import (
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// maxOrders bounds lists by the size of stacks, which a damaged image could make endless.
const maxOrders = 64

// maxStack is more bytes than any stack has.
const maxStack = 1 << 40

// fixedStack is the size in bytes of the smallest stacks (go1.26 runtime/stack.go: stackMin, on
// Linux without an addition for the system).
const fixedStack = 2 << 10

// freeMRef is the value of m.freeWait for a thread that ended without a stack to free (go1.26
// runtime/runtime2.go).
const freeMRef = 1

// StackSum is a number of stacks and their total size in bytes.
type StackSum struct{ Count, Bytes int64 }

func (s *StackSum) add(bytes uint64) {
	s.Count++
	s.Bytes += int64(bytes)
}

// StackMemory is the stack memory that belongs to no living goroutine, and the runtime's own
// account of all stack memory.
type StackMemory struct {
	Ended   StackSum // kept by goroutines that ended, for the next goroutine
	G0      StackSum // scheduler stacks of threads
	GSignal StackSum // signal stacks of threads
	Crash   StackSum // the stack for the crash of a thread that runs out of its scheduler stack
	// free, in the caches of processors (mcache.stackcache)
	Cache StackSum
	Pool  StackSum // free, in the pool of small stacks (runtime.stackpool)
	Large StackSum // free large stacks, kept while a collection is under way (runtime.stackLarge)
	// scheduler stacks that the operating system or C allocated: in neither of the accounts below.
	// Those whose lower end is not known have no bytes.
	Threads StackSum

	HeapBytes int64 // runtime/metrics /memory/classes/heap/stacks:bytes
	OSBytes   int64 // runtime/metrics /memory/classes/os-stacks:bytes
}

// ReadStackMemory measures the stacks beside those of goroutines (go1.26 and go1.27,
// runtime/stack.go).
//
// Every small stack is a part of a 32 KiB span: it is allocated, or on the free list of its span,
// or in a processor's cache (which its span counts as allocated). So the free stacks need not be
// walked: spans count theirs, and caches know their bytes.
func ReadStackMemory(m *goruntime.Model) (*StackMemory, error) {
	return (&stackReader{mem: m.Mem, l: m.Fields(), goroutines: m.AllGs}).read()
}

func (r *stackReader) read() (*StackMemory, error) {
	s := &StackMemory{}
	r.l.Fill(&r.g, &r.m, &r.p, &r.span, &r.at, &r.variables)
	for _, step := range []struct {
		what string
		read func(*StackMemory)
	}{
		{"memory statistics", r.account},
		{"ended goroutines", r.ended},
		{"threads", r.threads},
		{"the crash stack", r.crash},
		{"stack caches", r.caches},
		{"the stack pool", r.pool},
		{"large free stacks", r.large},
	} {
		step.read(s)
		if err := errors.Join(r.err, r.l.Err(), r.mem.Err()); err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return s, nil
}

var errSpanList = errors.New("the list of spans does not end")

type stackReader struct {
	mem *image.Space
	l   *rtlayout.Lookup
	// goroutines lists all g, including those that have ended
	goroutines func() ([]uint64, error)
	err        error

	g         rtlayout.Goroutine
	m         rtlayout.Thread
	p         rtlayout.Processor
	span      rtlayout.Span
	at        rtlayout.Stacks
	variables rtlayout.Variables
}

func (r *stackReader) broken() bool { return r.err != nil || r.l.Err() != nil || r.mem.Err() != nil }

// bounds returns the bounds of the stack of the g at addr.
func (r *stackReader) bounds(g uint64) (lo, hi uint64) {
	return r.mem.U64(g + uint64(r.g.StackLo)), r.mem.U64(g + uint64(r.g.StackHi))
}

// add adds the size of the stack of the g at addr to a sum, if it has one.
func (r *stackReader) add(s *StackSum, g uint64) {
	lo, hi := r.bounds(g)
	switch {
	case lo == 0:
	case hi <= lo || hi-lo > maxStack:
		r.err = fmt.Errorf("an impossible stack of %#x bytes", hi-lo)
	default:
		s.add(hi - lo)
	}
}

// foreign counts the stack of the g at addr, which Go did not allocate. The runtime does not know
// the lower end of the main thread's stack where it is unlimited (ulimit -s unlimited) or the C
// library is musl, and takes all addresses below the stack pointer for it (go1.26 and go1.27
// runtime/proc.go, mstart0; runtime/cgo/gcc_stack_unix.c).
func (r *stackReader) foreign(s *StackSum, g uint64) {
	if lo, hi := r.bounds(g); lo != 0 && hi > lo && hi-lo > maxStack {
		s.Count++
		return
	}
	r.add(s, g)
}

// ended counts the stacks of goroutines that ended but keep a stack of the standard size
// (runtime/proc.go, gfput), and of those made for callbacks from C (oneNewExtraM).
func (r *stackReader) ended(s *StackMemory) {
	gs, err := r.goroutines()
	if err != nil || r.l.Err() != nil {
		r.err = err
		return
	}
	for _, g := range gs {
		if rtlayout.HasEnded(r.mem.U32(g+uint64(r.g.Status)) &^ rtlayout.Scanning) {
			r.add(&s.Ended, g)
		}
	}
}

// threads counts the stacks of threads, including threads that have ended and wait for their stack
// to be freed. With cgo, on Windows and macOS, and for the main thread always, g0 uses a stack that
// Go did not allocate (go1.26 runtime/proc.go, allocm and mStackIsSystemAllocated).
func (r *stackReader) threads(s *StackMemory) {
	mem := r.mem
	foreign := mem.U8(r.at.UsesC) != 0 || r.ofSystem()
	list := func(m, link uint64, ended bool) {
		var seen image.Chain
		for m != 0 && !r.broken() {
			if seen.Returns(m) {
				r.err = errors.New("the list of threads does not end")
				return
			}
			switch g := mem.U64(m + r.m.G0); {
			case g == 0:
			case foreign || m == r.at.Main:
				if !ended {
					r.foreign(&s.Threads, g)
				}
			case !ended || mem.U32(m+r.m.Ended) != freeMRef:
				r.add(&s.G0, g)
			}
			if g := mem.U64(m + r.m.Signal); g != 0 {
				r.add(&s.GSignal, g)
			}
			m = mem.U64(m + link)
		}
	}
	list(mem.U64(uint64(r.variables.AllMs)), r.m.Next, false)
	list(mem.U64(r.at.Ended), r.m.NextEnded, true)
}

// ofSystem reports whether the operating system of the program provides the threads' stacks. The
// fields of runtime.mOS tell Windows and macOS from other systems (runtime/os_windows.go and
// os_darwin.go, mOS).
func (r *stackReader) ofSystem() bool {
	for _, field := range [...]string{"threadLock", "initialized"} {
		if _, ok := r.l.Maybe("runtime.mOS", field); ok {
			return true
		}
	}
	return false
}

// crash counts the stack of runtime.gcrash, a g that is in no list (runtime/proc.go, schedinit).
func (r *stackReader) crash(s *StackMemory) { r.add(&s.Crash, r.at.Crash) }

func (r *stackReader) caches(s *StackMemory) {
	mem, allp := r.mem, uint64(r.variables.AllPs)
	_, total := r.l.Range("runtime.mcache", "stackcache")
	list, n := mem.U64(allp), mem.U64(allp+8)
	if n > rtlayout.MaxProcessors {
		r.err = fmt.Errorf("the program claims %d processors", n)
		return
	}
	for i := range n {
		p := mem.U64(list + 8*i)
		if p == 0 {
			continue
		}
		cache := mem.U64(p + uint64(r.p.Cache))
		if cache == 0 {
			continue
		}
		for order := range min(total/r.at.Each, maxOrders) {
			bytes := mem.U64(cache + r.at.Cached + order*r.at.Each + r.at.Free)
			s.Cache.Bytes += int64(bytes)
			s.Cache.Count += int64(bytes / (fixedStack << order))
		}
	}
}

// pool counts the free stacks of spans that have any.
func (r *stackReader) pool(s *StackMemory) {
	v := r.l.Variable("runtime.stackpool")
	if r.broken() {
		return
	}
	array := r.l.Type(v.Type)
	elem := r.l.Type(array.Elem)
	oFirst, _, ok := r.l.Field(&elem, "item.span.first")
	if !ok || elem.Size <= 0 || array.Len <= 0 || array.Len > maxOrders {
		r.l.Fail("runtime.stackpool has an unknown form")
	}
	if r.broken() {
		return
	}
	mem := r.mem
	for order := range uint64(array.Len) {
		r.spans(mem.U64(v.Addr+order*uint64(elem.Size)+oFirst), func(span uint64) {
			size, each := r.spanSize(span), mem.U64(span+uint64(r.span.ElemSize))
			used := uint64(mem.U16(span + uint64(r.span.Allocated)))
			if each == 0 || size%each != 0 || used > size/each {
				r.err = fmt.Errorf("a span of %d bytes with %d stacks of %d bytes is damaged", size, used, each)
				return
			}
			s.Pool.Count += int64(size/each - used)
			s.Pool.Bytes += int64(size - used*each)
		})
	}
}

// spans calls visit for each span of a linked list.
func (r *stackReader) spans(first uint64, visit func(span uint64)) {
	var seen image.Chain
	for span := first; span != 0 && !r.broken(); span = r.mem.U64(span + uint64(r.span.Next)) {
		if seen.Returns(span) {
			r.err = errSpanList
			return
		}
		visit(span)
	}
}

func (r *stackReader) spanSize(span uint64) uint64 {
	return r.mem.U64(span+uint64(r.span.Pages)) * rtlayout.PageSize
}

func (r *stackReader) large(s *StackMemory) {
	v := r.l.Variable("runtime.stackLarge")
	if r.broken() {
		return
	}
	all := r.l.Type(v.Type)
	oFree, free, ok := r.l.Field(&all, "free")
	array := r.l.Type(free)
	elem := r.l.Type(array.Elem)
	oFirst, _, ok2 := r.l.Field(&elem, "first")
	if !ok || !ok2 || elem.Size <= 0 || array.Len <= 0 || array.Len > maxOrders {
		r.l.Fail("runtime.stackLarge has an unknown form")
	}
	if r.broken() {
		return
	}
	for i := range uint64(array.Len) {
		r.spans(r.mem.U64(v.Addr+oFree+i*uint64(elem.Size)+oFirst), func(span uint64) { s.Large.add(r.spanSize(span)) })
	}
}

// account reads the figures of the runtime's metrics. The runtime keeps these statistics as three
// differences, whose sum is valid while the world is stopped (runtime/mstats.go, unsafeRead).
func (r *stackReader) account(s *StackMemory) {
	_, total := r.l.Range("runtime.mstats", "heapStats.stats")
	if r.broken() {
		return
	}
	for i := range total / r.at.Delta {
		s.HeapBytes += int64(r.mem.U64(r.at.Heap + i*r.at.Delta + r.at.Used))
	}
	s.OSBytes = int64(r.mem.U64(r.at.System))
}
