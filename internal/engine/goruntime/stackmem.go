package goruntime

import (
	"errors"
	"fmt"
)

// Bounds of lists that a damaged image could make endless.
const (
	maxProcessors = 1 << 16
	maxOrders     = 64
)

// fixedStack is the size of the smallest stacks (go1.26 runtime/stack.go: stackMin, on Linux
// without an addition for the system).
const fixedStack = 2 << 10

// freeMRef is m.freeWait of a thread that ended without a stack to free (go1.26
// runtime/runtime2.go).
const freeMRef = 1

// StackSum is a number of stacks and their bytes.
type StackSum struct{ Count, Bytes int64 }

func (s *StackSum) add(bytes uint64) {
	s.Count++
	s.Bytes += int64(bytes)
}

// StackMemory is the stack memory that no living goroutine has, and the runtime's own account of
// all.
type StackMemory struct {
	Ended   StackSum // goroutines that ended, with the stack that the next one will get
	G0      StackSum // scheduler stacks of threads
	GSignal StackSum // signal stacks of threads
	Crash   StackSum // what a thread that runs out of its scheduler stack crashes on
	// free, in the caches of processors (mcache.stackcache); the count is of stacks
	Cache StackSum
	Pool  StackSum // free, in the pool of small stacks (runtime.stackpool)
	Large StackSum // free large stacks, kept while a collection is under way (runtime.stackLarge)
	// scheduler stacks that the operating system or C allocated: in none of the accounts
	Threads StackSum

	HeapBytes int64 // runtime/metrics /memory/classes/heap/stacks:bytes
	OSBytes   int64 // runtime/metrics /memory/classes/os-stacks:bytes
}

// StackMemory reads where stacks are besides with goroutines (go1.26 and go1.27, runtime/stack.go).
//
// Every small stack is a part of a 32 KiB span: allocated, or on the free list of its span, or
// (counted as allocated by its span) in a processor's cache. So the free ones need not be walked:
// spans count theirs, and caches know their bytes.
func (m *Model) StackMemory() (*StackMemory, error) {
	s := &StackMemory{}
	r := &stackReader{m: m, l: &layouts{names: m.names}}
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
		if err := errors.Join(r.err, r.l.err, m.Mem.Err()); err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return s, nil
}

var errSpanList = errors.New("the list of spans does not end")

type stackReader struct {
	m   *Model
	l   *layouts
	err error
}

// variable returns the address of a variable of the runtime.
func (r *stackReader) variable(name string) (addr uint64) {
	v, ok := r.m.names.GlobalByName(name)
	if !ok {
		r.l.fail("the variable %s is not in the debug information", name)
		return 0
	}
	return v.Addr + r.m.bias
}

func (r *stackReader) broken() bool { return r.err != nil || r.l.err != nil || r.m.Mem.Err() != nil }

// stackSize reads the stack of the g at addr, 0 if it has none.
func (r *stackReader) stackSize(g, oLo, oHi uint64) uint64 {
	lo, hi := r.m.Mem.U64(g+oLo), r.m.Mem.U64(g+oHi)
	switch {
	case lo == 0:
		return 0
	case hi <= lo || hi-lo > 1<<40:
		r.err = fmt.Errorf("an impossible stack of %#x bytes", hi-lo)
		return 0
	}
	return hi - lo
}

// ended counts goroutines that ended but keep a stack of the standard size (runtime/proc.go,
// gfput), and those made for callbacks from C (oneNewExtraM).
func (r *stackReader) ended(s *StackMemory) {
	oLo, oHi := r.l.off("runtime.g", "stack.lo"), r.l.off("runtime.g", "stack.hi")
	oStatus := r.l.off("runtime.g", "atomicstatus")
	gs, err := r.m.allgs()
	if err != nil || r.l.err != nil {
		r.err = err
		return
	}
	for _, g := range gs {
		switch r.m.Mem.U32(g+oStatus) &^ gScan {
		case gIdle, gDead, gDeadExtra:
			if n := r.stackSize(g, oLo, oHi); n > 0 {
				s.Ended.add(n)
			}
		}
	}
}

// threads counts the stacks of threads, also of those that ended and wait for their stack to be
// freed. With cgo, and for the main thread always, g0 stands on a stack that Go did not allocate
// (go1.26 runtime/proc.go, allocm).
func (r *stackReader) threads(s *StackMemory) {
	oG0, oSignal := r.l.off("runtime.m", "g0"), r.l.off("runtime.m", "gsignal")
	oAll, oFree := r.l.off("runtime.m", "alllink"), r.l.off("runtime.m", "freelink")
	oWait := r.l.off("runtime.m", "freeWait")
	oLo, oHi := r.l.off("runtime.g", "stack.lo"), r.l.off("runtime.g", "stack.hi")
	oFreem := r.l.off("runtime.schedt", "freem")
	allm, m0, sched, iscgo := r.variable("runtime.allm"), r.variable("runtime.m0"), r.variable("runtime.sched"), r.variable("runtime.iscgo")
	if r.broken() {
		return
	}
	mem := r.m.Mem
	foreign := mem.U8(iscgo) != 0
	list := func(m, link uint64, ended bool) {
		var seen chain
		for m != 0 && !r.broken() {
			if seen.returns(m) {
				r.err = errors.New("the list of threads does not end")
				return
			}
			if g := mem.U64(m + oG0); g != 0 {
				if size := r.stackSize(g, oLo, oHi); size > 0 {
					switch {
					case foreign || m == m0:
						if !ended {
							s.Threads.add(size)
						}
					case !ended || mem.U32(m+oWait) != freeMRef:
						s.G0.add(size)
					}
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

// crash counts the one stack of runtime.gcrash, a g that is in no list (runtime/proc.go,
// schedinit).
func (r *stackReader) crash(s *StackMemory) {
	oLo, oHi := r.l.off("runtime.g", "stack.lo"), r.l.off("runtime.g", "stack.hi")
	g := r.variable("runtime.gcrash")
	if r.broken() {
		return
	}
	if n := r.stackSize(g, oLo, oHi); n > 0 {
		s.Crash.add(n)
	}
}

func (r *stackReader) caches(s *StackMemory) {
	allp := r.variable("runtime.allp")
	oCache := r.l.off("runtime.p", "mcache")
	oLists, oSize := r.l.off("runtime.mcache", "stackcache"), r.l.off("runtime.stackfreelist", "size")
	total, each := r.l.fieldSize("runtime.mcache", "stackcache"), r.l.size("runtime.stackfreelist")
	if r.broken() {
		return
	}
	mem := r.m.Mem
	list, n := mem.U64(allp), mem.U64(allp+8)
	if n > maxProcessors {
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
	v, ok := r.m.names.GlobalByName("runtime.stackpool")
	if !ok {
		r.l.fail("the variable runtime.stackpool is not in the debug information")
		return
	}
	array := r.m.names.Type(v.Type)
	elem := r.m.names.Type(array.Elem)
	oFirst, _, ok := r.l.field(&elem, "item.span.first")
	if !ok || elem.Size <= 0 || array.Len <= 0 || array.Len > maxOrders {
		r.l.fail("runtime.stackpool has an unknown form")
	}
	oNext, oPages := r.l.off("runtime.mspan", "next"), r.l.off("runtime.mspan", "npages")
	oElem, oCount := r.l.off("runtime.mspan", "elemsize"), r.l.off("runtime.mspan", "allocCount")
	if r.broken() {
		return
	}
	mem := r.m.Mem
	for order := range uint64(array.Len) {
		span := mem.U64(v.Addr + r.m.bias + order*uint64(elem.Size) + oFirst)
		var seen chain
		for span != 0 && !r.broken() {
			size, each := mem.U64(span+oPages)*pageSize, mem.U64(span+oElem)
			used := uint64(mem.U16(span + oCount))
			if seen.returns(span) {
				r.err = errSpanList
				return
			}
			if each == 0 || size%each != 0 || used > size/each {
				r.err = fmt.Errorf("a span of %d bytes with %d stacks of %d bytes is damaged", size, used, each)
				return
			}
			s.Pool.Count += int64(size/each - used)
			s.Pool.Bytes += int64(size - used*each)
			span = mem.U64(span + oNext)
		}
	}
}

func (r *stackReader) large(s *StackMemory) {
	v, ok := r.m.names.GlobalByName("runtime.stackLarge")
	if !ok {
		r.l.fail("the variable runtime.stackLarge is not in the debug information")
		return
	}
	all := r.m.names.Type(v.Type)
	oFree, free, ok := r.l.field(&all, "free")
	array := r.m.names.Type(free)
	elem := r.m.names.Type(array.Elem)
	oFirst, _, ok2 := r.l.field(&elem, "first")
	if !ok || !ok2 || elem.Size <= 0 || array.Len <= 0 || array.Len > maxOrders {
		r.l.fail("runtime.stackLarge has an unknown form")
	}
	oNext, oPages := r.l.off("runtime.mspan", "next"), r.l.off("runtime.mspan", "npages")
	if r.broken() {
		return
	}
	mem := r.m.Mem
	for i := range uint64(array.Len) {
		span := mem.U64(v.Addr + r.m.bias + oFree + i*uint64(elem.Size) + oFirst)
		var seen chain
		for span != 0 && !r.broken() {
			if seen.returns(span) {
				r.err = errSpanList
				return
			}
			s.Large.add(mem.U64(span+oPages) * pageSize)
			span = mem.U64(span + oNext)
		}
	}
}

// account reads what the runtime's metrics would say. The statistics are kept in three generations
// of differences, whose sum counts while the world stands still (runtime/mstats.go, unsafeRead).
func (r *stackReader) account(s *StackMemory) {
	stats := r.variable("runtime.memstats")
	oSys, oHeap := r.l.off("runtime.mstats", "stacks_sys"), r.l.off("runtime.mstats", "heapStats.stats")
	total, each := r.l.fieldSize("runtime.mstats", "heapStats.stats"), r.l.size("runtime.heapStatsDelta")
	oStacks := r.l.off("runtime.heapStatsDelta", "inStacks")
	if r.broken() {
		return
	}
	for i := range total / each {
		s.HeapBytes += int64(r.m.Mem.U64(stats + oHeap + i*each + oStacks))
	}
	s.OSBytes = int64(r.m.Mem.U64(stats + oSys))
}
