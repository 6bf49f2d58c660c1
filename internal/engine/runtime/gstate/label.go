package gstate

import (
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Limits for profiler labels: any code may set the label pointer through a linkname.
const (
	maxLabels      = 1 << 12
	maxLabelString = 1 << 16
	maxLabelBytes  = 64 << 20 // of all sets together, for the report
)

// A Label is a key and a value of runtime/pprof.Do.
type Label struct{ Key, Value string }

// LabelSets reads the labels at the addresses, in bulk. It leaves out addresses that hold no label
// set.
func LabelSets(m *goruntime.Model, addrs []uint64) map[uint64][]Label {
	// runtime/pprof/label.go, labelMap: one field, a slice of {Key, Value string}. Without
	// the type nothing in the program sets labels of that form.
	const labelMap = "runtime/pprof.labelMap"
	fields := m.Fields()
	t := fields.Struct(labelMap)
	if t == nil || len(addrs) == 0 {
		return nil
	}
	offset, ok := onlySlice(fields, *t)
	if !ok {
		m.Warn("the profiler labels of %s have an unknown form", m.GoVersion())
		return nil
	}
	type list struct{ addr, base, n uint64 }
	var lists []list
	var ranges []image.Range
	prefetch(m, spread(addrs, offset+24))
	for _, a := range addrs {
		if !m.Mem.Try(a+offset, 16) {
			continue
		}
		l := list{a, m.Mem.U64(a + offset), m.Mem.U64(a + offset + 8)}
		if l.n == 0 || l.n > maxLabels {
			continue
		}
		lists = append(lists, l)
		ranges = append(ranges, image.Range{Addr: l.base, Len: l.n * 32})
	}
	prefetch(m, ranges)
	ranges = ranges[:0]
	for _, l := range lists {
		for i := range 2 * l.n {
			if at := l.base + 16*i; m.Mem.Try(at, 16) {
				if n := m.Mem.U64(at + 8); n <= maxLabelString {
					ranges = append(ranges, image.Range{Addr: m.Mem.U64(at), Len: n})
				}
			}
		}
	}
	prefetch(m, ranges)
	sets := make(map[uint64][]Label, len(lists))
	left := maxLabelBytes
	for _, l := range lists {
		if set, ok := labelSet(m, l.base, l.n, &left); ok {
			sets[l.addr] = set
		}
	}
	if left < 0 {
		m.Warn("profiler labels beyond %d MB are left out", maxLabelBytes>>20)
	}
	return sets
}

// labelSet reads the labels at an address, unless they take more than the bytes left.
func labelSet(m *goruntime.Model, base, n uint64, left *int) ([]Label, bool) {
	if *left -= int(n) * 32; *left < 0 {
		return nil, false
	}
	set := make([]Label, n)
	for i := range set {
		key, ok := stringAt(m, base+32*uint64(i))
		if !ok {
			return nil, false
		}
		value, ok := stringAt(m, base+32*uint64(i)+16)
		if !ok {
			return nil, false
		}
		if *left -= len(key) + len(value); *left < 0 {
			return nil, false
		}
		set[i] = Label{key, value}
	}
	return set, true
}

// onlySlice returns the offset of the slice in a struct that nests structs of a single field, down
// to the slice.
func onlySlice(l *rtlayout.Lookup, t debuginfo.Type) (uint64, bool) {
	offset := uint64(0)
	for range 8 {
		if len(t.Fields) == 0 {
			elem := l.Type(t.Elem)
			return offset, t.Size == 24 && elem.Size == 32 && len(elem.Fields) == 2 &&
				elem.Fields[0].Offset == 0 && elem.Fields[1].Offset == 16
		}
		if len(t.Fields) != 1 {
			return 0, false
		}
		offset += uint64(t.Fields[0].Offset)
		t = l.Type(t.Fields[0].Type)
	}
	return 0, false
}

// stringAt reads the Go string whose header is at addr, without leaving a sticky error.
func stringAt(m *goruntime.Model, addr uint64) (string, bool) {
	if !m.Mem.Try(addr, 16) {
		return "", false
	}
	data, n := m.Mem.U64(addr), m.Mem.U64(addr+8)
	if n == 0 {
		return "", true
	}
	if n > maxLabelString || !m.Mem.Try(data, n) {
		return "", false
	}
	return string(m.Mem.Bytes(data, n)), true
}

func spread(addrs []uint64, n uint64) []image.Range {
	ranges := make([]image.Range, len(addrs))
	for i, a := range addrs {
		ranges[i] = image.Range{Addr: a, Len: n}
	}
	return ranges
}

// prefetch copies the pages of many scattered small ranges in bulk, if the heap was not loaded.
func prefetch(m *goruntime.Model, ranges []image.Range) {
	if m.Spans != nil {
		return // small reads fetch what the heap's load left out
	}
	const page = 4 << 10
	pages := make([]image.Range, 0, len(ranges))
	for _, r := range ranges {
		lo, hi := r.Addr&^(page-1), (r.End()+page-1)&^(page-1)
		if r.Addr != 0 && r.Len != 0 && r.Addr < r.End() && lo < hi {
			pages = append(pages, image.Range{Addr: lo, Len: hi - lo})
		}
	}
	// A later read of memory that cannot be read returns the error.
	_, _ = m.Mem.Load(pages)
}
