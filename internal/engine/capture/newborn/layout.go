package newborn

import "github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"

// A Layout has the addresses of the runtime's variables that a watch reads, and the offsets of
// fields.
type Layout struct {
	heap, allgs, allp, module uintptr

	heapSpans, heapSweepgen                                                  uintptr // runtime.mheap
	spanStart, spanElems, spanSize, spanClass, spanState, spanBits, spanSwep uintptr // runtime.mspan
	gStackHi, gSP                                                            uintptr // runtime.g
	chanUsed, chanElems, chanElemSize, chanBuf, chanSize                     uintptr // runtime.hchan
	gID, gStatus, pTimers, pSudogs, pDefers, timerState                      uintptr // runtime.g and p
	mapSize, mapUsed, mapDirLen, mapDepth, mapShift                          uintptr // internal/runtime/maps
	tableSize, tableUsed, tableCapacity                                      uintptr
	moduleData, moduleDataEnd, moduleBSS, moduleBSSEnd, moduleNext           uintptr // runtime.moduledata
}

// NewLayout looks up the layout of a program that was loaded bias bytes above where it was linked.
func NewLayout(names rtlayout.Names, bias uint64) (*Layout, error) {
	in := rtlayout.In(names, bias)
	at := func(name string) uintptr { return uintptr(in.Variable(name).Addr) }
	offset := func(typ, field string) uintptr { return uintptr(in.Offset(typ, field)) }
	const (
		header = "internal/runtime/maps.Map"
		table  = "internal/runtime/maps.table"
		span   = "runtime.mspan"
		module = "runtime.moduledata"
		queue  = "runtime.hchan"
	)
	l := &Layout{
		heap: at("runtime.mheap_"), allgs: at("runtime.allgs"), allp: at("runtime.allp"),
		module:    at("runtime.firstmoduledata"),
		heapSpans: offset("runtime.mheap", "allspans"), heapSweepgen: offset("runtime.mheap", "sweepgen"),
		spanStart: offset(span, "startAddr"), spanElems: offset(span, "nelems"), spanSize: offset(span, "elemsize"),
		spanClass: offset(span, "spanclass"), spanState: offset(span, "state"), spanBits: offset(span, "allocBits"),
		spanSwep: offset(span, "sweepgen"),
		gStackHi: offset("runtime.g", "stack.hi"), gSP: offset("runtime.g", "sched.sp"),
		chanUsed: offset(queue, "qcount"), chanElems: offset(queue, "dataqsiz"), chanElemSize: offset(queue, "elemsize"), chanBuf: offset(queue, "buf"), chanSize: uintptr(in.Size(queue)),
		gID: offset("runtime.g", "goid"), gStatus: offset("runtime.g", "atomicstatus"),
		pTimers: offset("runtime.p", "timers.heap"), pSudogs: offset("runtime.p", "sudogcache"), pDefers: offset("runtime.p", "deferpool"),
		timerState: offset("runtime.timer", "state"),
		mapSize:    uintptr(in.Size(header)), mapUsed: offset(header, "used"), mapDirLen: offset(header, "dirLen"),
		mapDepth: offset(header, "globalDepth"), mapShift: offset(header, "globalShift"),
		tableSize: uintptr(in.Size(table)), tableUsed: offset(table, "used"), tableCapacity: offset(table, "capacity"),
		moduleData: offset(module, "data"), moduleDataEnd: offset(module, "edata"),
		moduleBSS: offset(module, "bss"), moduleBSSEnd: offset(module, "ebss"), moduleNext: offset(module, "next"),
	}
	return l, in.Err()
}
