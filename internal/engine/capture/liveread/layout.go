package liveread

import (
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A Layout has the addresses of the runtime's variables that this package reads, and the offsets
// of fields.
type Layout struct {
	at         rtlayout.Variables
	mheap      rtlayout.Heap
	arena      rtlayout.Arena
	mspan      rtlayout.Span
	g          rtlayout.Goroutine
	p          rtlayout.Processor
	timer      rtlayout.Timer
	hchan      rtlayout.Channel
	header     rtlayout.Map
	table      rtlayout.MapTable
	moduledata rtlayout.Module
	descriptor rtlayout.Descriptor

	bias            uint64  // is added to addresses of the debug information
	types, typesEnd uintptr // where the descriptors of the first module's types lie
	greenTea        bool

	_ [0]func() // is not compared: the comparison would be code
}

// NewLayout looks up the layout of a program that was loaded bias bytes above where it was linked.
func NewLayout(names rtlayout.Names, bias uint64) (*Layout, error) {
	in, l := rtlayout.In(names, bias), &Layout{bias: bias}
	in.Fill(&l.at, &l.mheap, &l.arena, &l.mspan, &l.g, &l.p, &l.timer, &l.hchan, &l.header, &l.table, &l.moduledata, &l.descriptor)
	if err := in.Err(); err != nil {
		return nil, err
	}
	_, l.greenTea = names.TypeByName(rtlayout.GreenTea)
	l.types, l.typesEnd = offheap.Word(l.at.Modules+l.moduledata.Types), offheap.Word(l.at.Modules+l.moduledata.TypesEnd)
	return l, nil
}
