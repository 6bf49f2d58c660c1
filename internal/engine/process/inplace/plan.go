package inplace

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// AnySize is the limit of a copy that may take as much memory as there is.
const AnySize = math.MaxInt64

// ErrSize is the error if a copy would take more bytes than its limit.
var ErrSize = errors.New("there is more memory to copy than the limit allows")

// A Plan says where the runtime of this process keeps the memory that has to be copied. It may be
// used for many images.
type Plan struct {
	places    places
	variables []image.Range // to which the program writes
	tables    []image.Range // to which nobody writes, whatever the system says of their pages
	// memory of a copy with a limit that is closed, for the next one: to get as much from the
	// system takes longer than to fill it
	spare atomic.Pointer[[][]byte]
}

// places are addresses of the runtime's variables, and offsets of fields.
type places struct {
	at     rtlayout.Variables
	tables rtlayout.Tables
	mheap  rtlayout.Heap
	mspan  rtlayout.Span
	g      rtlayout.Goroutine

	_ [0]func() // is not compared: the comparison would be code
}

// NewPlan finds these places in this process. bias is the difference between the program's
// addresses in memory and in the debug information.
func NewPlan(names *debuginfo.Index, bias uint64) (*Plan, error) {
	l := rtlayout.In(names, bias)
	p := &Plan{}
	l.Fill(&p.places.at, &p.places.tables, &p.places.mheap, &p.places.mspan, &p.places.g)
	if err := p.addModules(l, largeVariables(names, bias)); err != nil {
		return nil, err
	}
	p.variables = image.Union(p.variables)
	return p, nil
}

// addModules adds the variables of each module and its tables (runtime/symtab.go, moduledata). It
// leaves out the program's large variables without pointers.
func (p *Plan) addModules(l *rtlayout.Lookup, large []image.Range) error {
	var at rtlayout.Module
	l.Fill(&at)
	if err := l.Err(); err != nil {
		return err
	}
	word := func(a uintptr) uint64 { return uint64(offheap.Word(a)) }
	var c image.Chain
	for m := p.places.at.Modules; m != 0; m = offheap.Word(m + at.Next) {
		if c.Returns(uint64(m)) {
			return errors.New("the list of modules does not end")
		}
		p.variables = append(p.variables, image.Range{Addr: uint64(m), Len: uint64(at.Size)})
		for _, bounds := range [...][2]uintptr{{at.Data, at.DataEnd}, {at.BSS, at.BSSEnd}} {
			p.variables = appendRange(p.variables, word(m+bounds[0]), word(m+bounds[1]))
		}
		for _, bounds := range [...][2]uintptr{{at.NoPtrData, at.NoPtrDataEnd}, {at.NoPtrBSS, at.NoPtrBSSEnd}} {
			lo, hi := word(m+bounds[0]), word(m+bounds[1])
			for _, v := range large {
				if lo <= v.Addr && v.End() <= hi {
					p.variables = appendRange(p.variables, lo, v.Addr)
					lo = v.End()
				}
			}
			p.variables = appendRange(p.variables, lo, hi)
		}
		// Between rodata and epclntab the linker puts constants, the tables of functions among
		// them. In position-independent programs types, and other data with addresses in it, lie
		// apart, before the variables (cmd/link/internal/ld/data.go, dodata).
		p.tables = appendRange(p.tables, word(m+at.Text), word(m+at.TextEnd))
		p.tables = appendRange(p.tables, word(m+at.ROData), word(m+at.LinesEnd))
		if types := word(m + at.Types); types > word(m+at.LinesEnd) {
			p.tables = appendRange(p.tables, types, word(m+at.NoPtrData))
		}
	}
	return nil
}

func appendRange(list []image.Range, lo, hi uint64) []image.Range {
	if lo == 0 || hi <= lo {
		return list
	}
	return append(list, image.Range{Addr: lo, Len: hi - lo})
}

// largeVariable is the size in bytes from which on a variable of the program is left out if it
// holds no pointers. Smaller ones lie between the runtime's variables, and between data that the
// compiler keeps there about types (cmd/compile/internal/reflectdata, dgcptrmaskOnDemand).
const largeVariable = 64 << 10

// unknownData is the size in bytes from which on memory between variables is left out, too. Of the
// data that has no debug information, only the race detector's library has so much, 16 MB.
const unknownData = 1 << 20

// largeVariables lists, by address, large variables that are not the runtime's, and large gaps
// between known variables.
func largeVariables(names *debuginfo.Index, bias uint64) (large []image.Range) {
	known := uint64(0) // end of the variables so far; 0: none yet
	for _, v := range names.Globals() {
		if known > 0 && v.Addr >= known+unknownData {
			large = append(large, image.Range{Addr: known + bias, Len: v.Addr - known})
		}
		known = max(known, v.Addr+uint64(names.Type(v.Type).Size))
		if strings.HasPrefix(v.Name, "runtime.") || strings.HasPrefix(v.Name, "internal/") {
			continue
		}
		if size := names.Type(v.Type).Size; size >= largeVariable {
			large = append(large, image.Range{Addr: v.Addr + bias, Len: uint64(size)})
		}
	}
	return image.Union(large)
}
