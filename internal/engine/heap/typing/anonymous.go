package typing

import (
	"sort"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
)

// Anonymous is static data that the compiler made and that a reference gives a type and a size,
// such as the array behind a package variable that is a slice literal. The linker keeps no symbols
// for such data.
type Anonymous struct {
	Typing Typing
	Mem    []byte
	Addr   uint64
}

// Carve returns the anonymous static data that a reference describes, nil if it leads to none.
//
//go:norace
func (d *Segments) Carve(e heaptype.Edge) *Anonymous {
	if e.Type == nil || e.Size == 0 || !e.Type.HasPointers() {
		return nil
	}
	i := d.At(e.To)
	if i < 0 || d.Statics[i].HeapType != nil {
		return nil
	}
	s := &d.Statics[i]
	off := e.To - s.Addr
	if e.Size > uint64(len(s.Mem))-off {
		return nil
	}
	if e.Type.Index == 0 {
		return nil
	}
	return &Anonymous{Typing: Typing{Type: e.Type.Index, Layout: e.Layout, Grounds: Grounds{Confidence: e.Confidence}}, Mem: s.Mem[off : off+e.Size], Addr: e.To}
}

// An AnonymousSet is the anonymous static data of a program, one for each address where some
// begins.
type AnonymousSet struct {
	List   []Anonymous
	byAddr map[uint64]int32
	types  *heaptype.Table
}

// NewAnonymousSet returns an empty set.
func NewAnonymousSet(types *heaptype.Table) *AnonymousSet {
	return &AnonymousSet{byAddr: make(map[uint64]int32), types: types}
}

// At returns the index of the data that begins at an address.
func (a *AnonymousSet) At(addr uint64) (i int32, ok bool) {
	i, ok = a.byAddr[addr]
	return i, ok
}

// Improves reports whether data is new, or larger or of a better typing than what is known at its
// address.
func (a *AnonymousSet) Improves(c *Anonymous) bool {
	i, known := a.byAddr[c.Addr]
	if !known {
		return true
	}
	old := &a.List[i]
	if len(old.Mem) != len(c.Mem) {
		return len(old.Mem) < len(c.Mem)
	}
	return Better(a.types, c.Typing, old.Typing, uint64(len(c.Mem)))
}

// Put adds data or replaces what is known at its address, and returns its index. It returns false
// if that is no improvement.
func (a *AnonymousSet) Put(c *Anonymous) (i int32, ok bool) {
	if !a.Improves(c) {
		return 0, false
	}
	i, known := a.byAddr[c.Addr]
	if known {
		a.List[i] = *c
	} else {
		i = int32(len(a.List))
		a.List = append(a.List, *c)
		a.byAddr[c.Addr] = i
	}
	return i, true
}

// Sort numbers the data by address.
func (a *AnonymousSet) Sort() {
	sort.Slice(a.List, func(i, j int) bool { return a.List[i].Addr < a.List[j].Addr })
	for i := range a.List {
		a.byAddr[a.List[i].Addr] = int32(i)
	}
}
