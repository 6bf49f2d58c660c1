package newborn

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
)

// Names is the part of the debug information that a layout is made from.
type Names interface {
	TypeByName(name string) (debuginfo.TypeID, bool)
	Type(id debuginfo.TypeID) debuginfo.Type
	GlobalByName(name string) (debuginfo.Global, bool)
}

// A Layout says where the runtime has what is read: addresses of its variables, and offsets of
// fields.
type Layout struct {
	heap, allgs, allp uintptr

	heapSpans, heapSweepgen                                                  uintptr // runtime.mheap
	spanStart, spanElems, spanSize, spanClass, spanState, spanBits, spanSwep uintptr // runtime.mspan
	gID, gStatus, pTimers, pSudogs, pDefers, timerState                      uintptr // runtime.g and p
	mapSize, mapUsed, mapDirLen, mapDepth, mapShift                          uintptr // internal/runtime/maps
	tableSize, tableUsed, tableCapacity                                      uintptr
}

// NewLayout looks up the layout of a program that was loaded bias bytes above where it was linked.
func NewLayout(names Names, bias uint64) (*Layout, error) {
	q := query{names: names}
	at := func(name string) uintptr {
		g, ok := names.GlobalByName(name)
		if !ok {
			q.fail(name)
		}
		return uintptr(g.Addr + bias)
	}
	const (
		header = "internal/runtime/maps.Map"
		table  = "internal/runtime/maps.table"
	)
	l := &Layout{
		heap: at("runtime.mheap_"), allgs: at("runtime.allgs"), allp: at("runtime.allp"),
		heapSpans: q.offset("runtime.mheap", "allspans"), heapSweepgen: q.offset("runtime.mheap", "sweepgen"),
		spanStart: q.offset("runtime.mspan", "startAddr"), spanElems: q.offset("runtime.mspan", "nelems"),
		spanSize: q.offset("runtime.mspan", "elemsize"), spanClass: q.offset("runtime.mspan", "spanclass"),
		spanState: q.offset("runtime.mspan", "state"), spanBits: q.offset("runtime.mspan", "allocBits"),
		spanSwep: q.offset("runtime.mspan", "sweepgen"),
		gID:      q.offset("runtime.g", "goid"), gStatus: q.offset("runtime.g", "atomicstatus"),
		pTimers: q.offset("runtime.p", "timers.heap"), pSudogs: q.offset("runtime.p", "sudogcache"), pDefers: q.offset("runtime.p", "deferpool"),
		timerState: q.offset("runtime.timer", "state"),
		mapSize:    q.size(header), mapUsed: q.offset(header, "used"), mapDirLen: q.offset(header, "dirLen"),
		mapDepth: q.offset(header, "globalDepth"), mapShift: q.offset(header, "globalShift"),
		tableSize: q.size(table), tableUsed: q.offset(table, "used"), tableCapacity: q.offset(table, "capacity"),
	}
	return l, q.err
}

// A query looks up layouts; the first that is missing is kept as its error.
type query struct {
	names Names
	err   error
}

func (q *query) fail(what string) {
	if q.err == nil {
		q.err = fmt.Errorf("the debug information does not have %s", what)
	}
}

func (q *query) size(typ string) uintptr {
	id, ok := q.names.TypeByName(typ)
	if !ok {
		q.fail(typ)
		return 0
	}
	return uintptr(q.names.Type(id).Size)
}

// offset returns that of a field, given as a dotted path.
func (q *query) offset(typ, path string) (off uintptr) {
	id, ok := q.names.TypeByName(typ)
	for name := range strings.SplitSeq(path, ".") {
		found := false
		if ok {
			for _, f := range q.names.Type(id).Fields {
				if f.Name == name {
					off, id, found = off+uintptr(f.Offset), f.Type, true
					break
				}
			}
		}
		if !found {
			q.fail(typ + "." + path)
			return 0
		}
	}
	return off
}

// What the runtime has at an address. The race detector and checkptr know nothing of such memory.

func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func word(p uintptr) uint64 { return *(*uint64)(pointer(p)) }

func address(p uintptr) uintptr { return uintptr(word(p)) }

func half(p uintptr) uint32 { return *(*uint32)(pointer(p)) }

func short(p uintptr) uint16 { return *(*uint16)(pointer(p)) }

func octet(p uintptr) uint8 { return *(*uint8)(pointer(p)) }
