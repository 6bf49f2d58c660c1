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
	return (&stackReader{m.Mem, m.Fields(), m.AllGs, nil}).read()
}

func (r *stackReader) read() (*StackMemory, error) {
	s := &StackMemory{}
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
}

func (r *stackReader) broken() bool { return r.err != nil || r.l.Err() != nil || r.mem.Err() != nil }

// stackSize returns the size in bytes of the stack of the g at addr, 0 if it has none.
func (r *stackReader) stackSize(g, oLo, oHi uint64) uint64 {
	lo, hi := r.mem.U64(g+oLo), r.mem.U64(g+oHi)
	switch {
	case lo == 0:
		return 0
	case hi <= lo || hi-lo > maxStack:
		r.err = fmt.Errorf("an impossible stack of %#x bytes", hi-lo)
		return 0
	}
	return hi - lo
}

// foreign counts the stack of the g at addr, which Go did not allocate. The runtime does not know
// the lower end of the main thread's stack where it is unlimited (ulimit -s unlimited) or the C
// library is musl, and takes all addresses below the stack pointer for it (go1.26 and go1.27
// runtime/proc.go, mstart0; runtime/cgo/gcc_stack_unix.c).
func (r *stackReader) foreign(s *StackSum, g, oLo, oHi uint64) {
	lo, hi := r.mem.U64(g+oLo), r.mem.U64(g+oHi)
	switch {
	case lo == 0:
	case hi > lo && hi-lo > maxStack:
		s.Count++
	default:
		if size := r.stackSize(g, oLo, oHi); size > 0 {
			s.add(size)
		}
	}
}

// ended counts the stacks of goroutines that ended but keep a stack of the standard size
// (runtime/proc.go, gfput), and of those made for callbacks from C (oneNewExtraM).
func (r *stackReader) ended(s *StackMemory) {
	oLo, oHi := r.l.Offset("runtime.g", "stack.lo"), r.l.Offset("runtime.g", "stack.hi")
	oStatus := r.l.Offset("runtime.g", "atomicstatus")
	gs, err := r.goroutines()
	if err != nil || r.l.Err() != nil {
		r.err = err
		return
	}
	for _, g := range gs {
		if rtlayout.HasEnded(r.mem.U32(g+oStatus) &^ rtlayout.Scanning) {
			if n := r.stackSize(g, oLo, oHi); n > 0 {
				s.Ended.add(n)
			}
		}
	}
}

// threads counts the stacks of threads, including threads that have ended and wait for their stack
// to be freed. With cgo, on Windows and macOS, and for the main thread always, g0 uses a stack that
// Go did not allocate (go1.26 runtime/proc.go, allocm and mStackIsSystemAllocated).
func (r *stackReader) threads(s *StackMemory) {
	oG0, oSignal := r.l.Offset("runtime.m", "g0"), r.l.Offset("runtime.m", "gsignal")
	oAll, oFree := r.l.Offset("runtime.m", "alllink"), r.l.Offset("runtime.m", "freelink")
	oWait := r.l.Offset("runtime.m", "freeWait")
	oLo, oHi := r.l.Offset("runtime.g", "stack.lo"), r.l.Offset("runtime.g", "stack.hi")
	oFreem := r.l.Offset("runtime.schedt", "freem")
	allm, m0, sched, iscgo := r.l.Variable("runtime.allm").Addr, r.l.Variable("runtime.m0").Addr, r.l.Variable("runtime.sched").Addr, r.l.Variable("runtime.iscgo").Addr
	if r.broken() {
		return
	}
	mem := r.mem
	foreign := mem.U8(iscgo) != 0 || r.ofSystem()
	list := func(m, link uint64, ended bool) {
		var seen image.Chain
		for m != 0 && !r.broken() {
			if seen.Returns(m) {
				r.err = errors.New("the list of threads does not end")
				return
			}
			switch g := mem.U64(m + oG0); {
			case g == 0:
			case foreign || m == m0:
				if !ended {
					r.foreign(&s.Threads, g, oLo, oHi)
				}
			case !ended || mem.U32(m+oWait) != freeMRef:
				if size := r.stackSize(g, oLo, oHi); size > 0 {
					s.G0.add(size)
				}
			}
			if g := mem.U64(m + oSignal); g != 0 {
				if size := r.stackSize(g, oLo, oHi); size > 0 {
					s.GSignal.add(size)
				}
			}
			m = mem.U64(m + link)
		}
	}
	list(mem.U64(allm), oAll, false)
	list(mem.U64(sched+oFreem), oFree, true)
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
func (r *stackReader) crash(s *StackMemory) {
	oLo, oHi := r.l.Offset("runtime.g", "stack.lo"), r.l.Offset("runtime.g", "stack.hi")
	g := r.l.Variable("runtime.gcrash").Addr
	if r.broken() {
		return
	}
	if n := r.stackSize(g, oLo, oHi); n > 0 {
		s.Crash.add(n)
	}
}

func (r *stackReader) caches(s *StackMemory) {
	allp := r.l.Variable("runtime.allp").Addr
	oCache := r.l.Offset("runtime.p", "mcache")
	oLists, oSize := r.l.Offset("runtime.mcache", "stackcache"), r.l.Offset("runtime.stackfreelist", "size")
	total, each := r.l.FieldSize("runtime.mcache", "stackcache"), r.l.Size("runtime.stackfreelist")
	if r.broken() {
		return
	}
	mem := r.mem
	list, n := mem.U64(allp), mem.U64(allp+8)
	if n > rtlayout.MaxProcessors {
		r.err = fmt.Errorf("the program claims %d processors", n)
		return
	}
	for i := range n {
		p := mem.U64(list + 8*i)
		if p == 0 || mem.U64(p+oCache) == 0 {
			continue
		}
		for order := range min(total/each, maxOrders) {
			bytes := mem.U64(mem.U64(p+oCache) + oLists + order*each + oSize)
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
	oNext, oPages := r.l.Offset("runtime.mspan", "next"), r.l.Offset("runtime.mspan", "npages")
	oElem, oCount := r.l.Offset("runtime.mspan", "elemsize"), r.l.Offset("runtime.mspan", "allocCount")
	if r.broken() {
		return
	}
	mem := r.mem
	for order := range uint64(array.Len) {
		r.spans(mem.U64(v.Addr+order*uint64(elem.Size)+oFirst), oNext, func(span uint64) {
			size, each := mem.U64(span+oPages)*rtlayout.PageSize, mem.U64(span+oElem)
			used := uint64(mem.U16(span + oCount))
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
func (r *stackReader) spans(first, oNext uint64, visit func(span uint64)) {
	var seen image.Chain
	for span := first; span != 0 && !r.broken(); span = r.mem.U64(span + oNext) {
		if seen.Returns(span) {
			r.err = errSpanList
			return
		}
		visit(span)
	}
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
	oNext, oPages := r.l.Offset("runtime.mspan", "next"), r.l.Offset("runtime.mspan", "npages")
	if r.broken() {
		return
	}
	mem := r.mem
	for i := range uint64(array.Len) {
		r.spans(mem.U64(v.Addr+oFree+i*uint64(elem.Size)+oFirst), oNext, func(span uint64) {
			s.Large.add(mem.U64(span+oPages) * rtlayout.PageSize)
		})
	}
}

// account reads the figures of the runtime's metrics. The runtime keeps these statistics as three
// differences, whose sum is valid while the world is stopped (runtime/mstats.go, unsafeRead).
func (r *stackReader) account(s *StackMemory) {
	stats := r.l.Variable("runtime.memstats").Addr
	oSys, oHeap := r.l.Offset("runtime.mstats", "stacks_sys"), r.l.Offset("runtime.mstats", "heapStats.stats")
	total, each := r.l.FieldSize("runtime.mstats", "heapStats.stats"), r.l.Size("runtime.heapStatsDelta")
	oStacks := r.l.Offset("runtime.heapStatsDelta", "inStacks")
	if r.broken() {
		return
	}
	for i := range total / each {
		s.HeapBytes += int64(r.mem.U64(stats + oHeap + i*each + oStacks))
	}
	s.OSBytes = int64(r.mem.U64(stats + oSys))
}
