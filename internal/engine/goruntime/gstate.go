package goruntime

import (
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/image"
)

// statusNames are the states of goroutines as tracebacks call them (runtime/traceback.go,
// gStatusStrings; go1.26 and go1.27).
var statusNames = map[uint32]string{
	gIdle: "idle", 1: "runnable", gRunning: "running", 3: "syscall", 4: "waiting", gDead: "dead",
	8: "copystack", 9: "preempted", 10: "leaked", gDeadExtra: "waiting for cgo callback",
}

// GoroutineState is what the runtime knows of a goroutine besides its stack.
type GoroutineState struct {
	ID, Parent uint64
	Status     string
	WaitReason string // "" if it does not wait
	Labels     uint64 // address of the profiler labels, 0 if it has none
	Locked     bool   // to its thread
	// it was running without a usable record: its frames and stack pointer are unknown
	Unwalkable bool
}

// States reads GoroutineState records.
type States struct {
	m                                       *Model
	id, parent, status, reason, labels, lck uint64
	reasons                                 []string
}

// NewStates looks up what reading states needs.
func (m *Model) NewStates() (*States, error) {
	l := &m.layouts
	const g = "runtime.g"
	s := &States{
		m:  m,
		id: l.off(g, "goid"), parent: l.off(g, "parentGoid"), status: l.off(g, "atomicstatus"),
		reason: l.off(g, "waitreason"), labels: l.off(g, "labels"), lck: l.off(g, "lockedm"),
	}
	if l.err != nil {
		return nil, l.err
	}
	var err error
	s.reasons, err = m.waitReasons()
	return s, err
}

// waitReasons reads runtime.waitReasonStrings, so that a reason new in some version has its name.
func (m *Model) waitReasons() ([]string, error) {
	v, ok := m.names.GlobalByName("runtime.waitReasonStrings")
	if !ok {
		return nil, errors.New("the variable runtime.waitReasonStrings is not in the debug information")
	}
	n := m.names.Type(v.Type).Len
	if n <= 0 || n > 256 { // waitReason is a uint8
		return nil, fmt.Errorf("runtime.waitReasonStrings has %d elements", n)
	}
	names := make([]string, n)
	for i := range names {
		names[i], ok = m.stringAt(v.Addr + m.bias + 16*uint64(i))
		if !ok {
			return nil, fmt.Errorf("the name of wait reason %d cannot be read", i)
		}
	}
	return names, nil
}

// Of returns the state of a goroutine.
func (s *States) Of(g *Goroutine) GoroutineState {
	mem := s.m.Mem
	status := mem.U32(g.Addr+s.status) &^ gScan
	st := GoroutineState{
		ID: mem.U64(g.Addr + s.id), Parent: mem.U64(g.Addr + s.parent),
		Status: statusNames[status], Labels: mem.U64(g.Addr + s.labels),
		Locked: mem.U64(g.Addr+s.lck) != 0, Unwalkable: g.lost,
	}
	if st.Status == "" {
		st.Status = fmt.Sprintf("status %d", status)
	}
	if status == 4 || status == 10 {
		if r := int(mem.U8(g.Addr + s.reason)); r > 0 && r < len(s.reasons) {
			st.WaitReason = s.reasons[r]
		}
	}
	return st
}

// Limits of what is taken for profiler labels, which anybody may set through a linkname.
const (
	maxLabels      = 1 << 12
	maxLabelString = 1 << 16
	maxLabelBytes  = 64 << 20 // of all sets together, for the report
)

// A Label is a key and a value of runtime/pprof.Do.
type Label struct{ Key, Value string }

// LabelSets reads the labels at the addresses, in bulk. Sets that are none are left out.
func (m *Model) LabelSets(addrs []uint64) map[uint64][]Label {
	// runtime/pprof/label.go, labelMap: one field, a slice of {Key, Value string}. Without
	// the type nothing in the program sets labels of that form.
	const labelMap = "runtime/pprof.labelMap"
	t := m.layouts.structType(labelMap)
	if t == nil || len(addrs) == 0 {
		return nil
	}
	offset, ok := m.onlySlice(*t)
	if !ok {
		m.warn("the profiler labels of %s have an unknown form", m.names.GoVersion())
		return nil
	}
	type list struct{ addr, base, n uint64 }
	var lists []list
	var ranges []image.Range
	m.prefetch(spread(addrs, offset+24))
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
	m.prefetch(ranges)
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
	m.prefetch(ranges)
	sets := make(map[uint64][]Label, len(lists))
	left := maxLabelBytes
	for _, l := range lists {
		if set, ok := m.labelSet(l.base, l.n, &left); ok {
			sets[l.addr] = set
		}
	}
	if left < 0 {
		m.warn("profiler labels beyond %d MB are left out", maxLabelBytes>>20)
	}
	return sets
}

// labelSet reads the labels at an address, as long as some bytes are left for them.
func (m *Model) labelSet(base, n uint64, left *int) ([]Label, bool) {
	if *left -= int(n) * 32; *left < 0 {
		return nil, false
	}
	set := make([]Label, n)
	for i := range set {
		key, ok := m.stringAt(base + 32*uint64(i))
		if !ok {
			return nil, false
		}
		value, ok := m.stringAt(base + 32*uint64(i) + 16)
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

// onlySlice finds the offset of the slice that a struct of single-field structs ends in.
func (m *Model) onlySlice(t debuginfo.Type) (uint64, bool) {
	offset := uint64(0)
	for range 8 {
		if len(t.Fields) == 0 {
			elem := m.names.Type(t.Elem)
			return offset, t.Size == 24 && elem.Size == 32 && len(elem.Fields) == 2 &&
				elem.Fields[0].Offset == 0 && elem.Fields[1].Offset == 16
		}
		if len(t.Fields) != 1 {
			return 0, false
		}
		offset += uint64(t.Fields[0].Offset)
		t = m.names.Type(t.Fields[0].Type)
	}
	return 0, false
}

// stringAt reads the Go string whose header is at addr, without leaving a sticky error.
func (m *Model) stringAt(addr uint64) (string, bool) {
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

// prefetch copies the pages of many scattered small ranges in bulk, where no load of the heap did.
func (m *Model) prefetch(ranges []image.Range) {
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
	// What cannot be read is found out by whoever reads it.
	_, _ = m.Mem.Load(pages)
}
