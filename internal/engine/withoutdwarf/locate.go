package withoutdwarf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/engine/rtlayout"
)

// The largest valid values in spans and goroutines (go1.26 and 1.27 runtime/mheap.go and
// runtime2.go).
const (
	lastState  = 2      // of a span
	lastStatus = 0x100b // of a goroutine: _Gscan and _Gdeadextra
	maxList    = 1 << 28
)

// locator finds runtime.mheap_ and runtime.allgs among the variables of the program by their
// contents. The heap has a list of spans that agree with its sweep generation, and one of them
// holds the caller's goroutine; allgs is a list of goroutines that includes the caller's. It reads
// from source and not through the Space of Names, whose small reads must stay small: most variables
// that look like a slice are none.
type locator struct {
	source image.Source
	n      *Names
	p      Process
	layout *rtlayout.Lookup // its error is set if the table lacks a field
	err    error
}

func (l *locator) field(typeName, path string) uint64 { return l.layout.Offset(typeName, path) }

// A list is a variable of the program that looks like a slice of pointers.
type list struct {
	variable uint64 // its address
	at, n    uint64
}

func (l *locator) locate() (map[string]uint64, error) {
	mem := l.n.mem
	word := func(path string) uint64 { return mem.U64(l.p.Module + l.field("runtime.moduledata", path)) }
	if word("next") != 0 {
		return nil, errors.New("the program has more than one module: a plugin or shared libraries")
	}
	minpc, maxpc, bss, ebss := word("minpc"), word("maxpc"), word("bss"), word("ebss")
	l.n.lo, l.n.hi = word("types"), word("etypes")
	if err := mem.Err(); err != nil {
		return nil, err
	}
	if l.layout.Err() != nil || l.p.PC < minpc || l.p.PC >= maxpc || ebss < bss || ebss-bss > 1<<36 || bss%8 != 0 || l.n.hi < l.n.lo {
		return nil, errors.New("the module data is not as the table of layouts says")
	}
	lists := l.slices(bss, ebss)
	heaps := l.heaps(lists)
	gs := l.allGs(lists)
	switch {
	case l.err != nil:
		return nil, l.err
	case l.layout.Err() != nil:
		return nil, errors.New("the table of layouts lacks a field")
	case len(heaps) != 1:
		return nil, fmt.Errorf("%d variables could be the runtime's heap", len(heaps))
	case len(gs) != 1:
		return nil, fmt.Errorf("%d variables could be the runtime's list of goroutines", len(gs))
	}
	return map[string]uint64{
		"runtime.firstmoduledata": l.p.Module,
		"runtime.mheap_":          heaps[0],
		"runtime.allgs":           gs[0],
		// runtime.writeBarrier is set in just the phases in which gcphase is not 0 (runtime/mgc.go,
		// setGCPhase).
		"runtime.gcphase": l.p.WriteBarrier,
	}, nil
}

// copy reads n bytes at each address; an element of the result is nil if fewer bytes can be read.
func (l *locator) copy(addrs []uint64, n uint64) [][]byte {
	ranges := make([]image.Range, len(addrs))
	for i, a := range addrs {
		ranges[i] = image.Range{Addr: a, Len: n}
	}
	out, err := l.source.Copy(ranges)
	if err != nil {
		l.err = err
		return make([][]byte, len(addrs))
	}
	for i := range out {
		if uint64(len(out[i])) < n {
			out[i] = nil
		}
	}
	return out
}

// slices returns the variables in the segment from bss to ebss that look like slices of pointers.
func (l *locator) slices(bss, ebss uint64) []list {
	data := l.copy([]uint64{bss}, ebss-bss)[0]
	var lists []list
	var addrs []uint64
	for off := 0; off+24 <= len(data); off += 8 {
		at, n, c := u64(data[off:]), u64(data[off+8:]), u64(data[off+16:])
		if at != 0 && at%8 == 0 && n > 0 && n <= c && c <= maxList {
			lists = append(lists, list{bss + uint64(off), at, n})
			addrs = append(addrs, at)
		}
	}
	kept := lists[:0]
	for i, first := range l.copy(addrs, 8) {
		if first != nil && u64(first) != 0 && u64(first)%8 == 0 {
			kept = append(kept, lists[i])
		}
	}
	return kept
}

// allElements reads size bytes at each pointer in a list and reports whether ok accepts all of
// them. It checks the first element before it reads the others.
func (l *locator) allElements(s list, size uint64, ok func(addr uint64, b []byte) bool) bool {
	for _, n := range []uint64{1, s.n} {
		pointers := l.copy([]uint64{s.at}, n*8)[0]
		if pointers == nil {
			return false
		}
		addrs := make([]uint64, n)
		for i := range addrs {
			if addrs[i] = u64(pointers[8*i:]); addrs[i] == 0 || addrs[i]%8 != 0 {
				return false
			}
		}
		for i, b := range l.copy(addrs, size) {
			if b == nil || !ok(addrs[i], b) {
				return false
			}
		}
	}
	return true
}

func (l *locator) allGs(lists []list) []uint64 {
	lo, hi, status := l.field("runtime.g", "stack.lo"), l.field("runtime.g", "stack.hi"), l.field("runtime.g", "atomicstatus")
	var found []uint64
	for _, s := range lists {
		self := false
		if l.allElements(s, status+8, func(g uint64, b []byte) bool {
			self = self || g == l.p.G
			return u64(b[lo:]) <= u64(b[hi:]) && binary.LittleEndian.Uint32(b[status:]) <= lastStatus
		}) && self {
			found = append(found, s.variable)
		}
	}
	return found
}

func (l *locator) heaps(lists []list) []uint64 {
	const span = "runtime.mspan"
	var (
		oStart, oPages  = l.field(span, "startAddr"), l.field(span, "npages")
		oState, oGen    = l.field(span, "state"), l.field(span, "sweepgen")
		oElem, oLimit   = l.field(span, "elemsize"), l.field(span, "limit")
		oHeapGen, oList = l.field("runtime.mheap", "sweepgen"), l.field("runtime.mheap", "allspans")
		size            = uint64(l.n.types[l.n.byName[span]].t.Size)
		le              = binary.LittleEndian
	)
	var found []uint64
	for _, s := range lists {
		gen := l.copy([]uint64{s.variable - oList + oHeapGen}, 4)[0]
		if gen == nil {
			continue
		}
		self := false
		if l.allElements(s, size, func(_ uint64, b []byte) bool {
			if b[oState] > lastState || u64(b[oStart:])%rtlayout.PageSize != 0 {
				return false
			}
			if b[oState] != rtlayout.SpanInUse {
				return true
			}
			start, pages, limit := u64(b[oStart:]), u64(b[oPages:]), u64(b[oLimit:])
			self = self || start <= l.p.G && l.p.G < limit
			// A span may be swept or not, cached or not: its generation is at most two behind the
			// heap's and three ahead (runtime/mheap.go, mspan.sweepgen).
			age := le.Uint32(b[oGen:]) - le.Uint32(gen)
			return start != 0 && pages > 0 && pages <= maxList && u64(b[oElem:]) > 0 &&
				limit > start && limit <= start+pages*rtlayout.PageSize && age+2 <= 5
		}) && self {
			found = append(found, s.variable-oList)
		}
	}
	return found
}

func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
