package inplace

import (
	"errors"
	"math"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/memory/rawmem"
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
}

// places are addresses of the runtime's variables, and offsets of fields.
type places struct {
	gcPhase, heap, allgs, chunks                  uintptr
	bitsNext, bitsCurrent, bitsPrevious           uintptr // of runtime.gcBitsArenas
	allspans                                      uintptr // in runtime.mheap
	spanStart, spanPages, spanState, spanClass    uintptr // in runtime.mspan
	spanElem                                      uintptr
	stackLo, stackHi, schedSP, syscallSP, gStatus uintptr // in runtime.g
	bitsArenaNext, bitsArenaSize                  uintptr
}

// NewPlan finds these places in this process. bias is the difference between the program's
// addresses in memory and in the debug information.
func NewPlan(names *debuginfo.Index, bias uint64) (*Plan, error) {
	l := rtlayout.In(names, bias)
	variable := func(name string) uintptr { return uintptr(l.Variable(name).Addr) }
	offset := func(typ, path string) uintptr { return uintptr(l.Offset(typ, path)) }
	const span, g, arena = "runtime.mspan", "runtime.g", "runtime.gcBitsArena"
	p := &Plan{places: places{
		gcPhase: variable("runtime.gcphase"), heap: variable("runtime.mheap_"), allgs: variable("runtime.allgs"),
		chunks:   variable("runtime.persistentChunks"),
		allspans: offset("runtime.mheap", "allspans"),

		spanStart: offset(span, "startAddr"), spanPages: offset(span, "npages"), spanState: offset(span, "state"),
		spanClass: offset(span, "spanclass"), spanElem: offset(span, "elemsize"),

		stackLo: offset(g, "stack.lo"), stackHi: offset(g, "stack.hi"), schedSP: offset(g, "sched.sp"),
		syscallSP: offset(g, "syscallsp"), gStatus: offset(g, "atomicstatus"),

		bitsArenaNext: offset(arena, "next"), bitsArenaSize: uintptr(l.Size(arena)),
	}}
	arenas := l.Variable("runtime.gcBitsArenas")
	lists := l.Type(arenas.Type)
	list := func(name string) uintptr {
		off, _, ok := l.Field(&lists, name)
		if !ok {
			l.Fail("the variable runtime.gcBitsArenas has no field %s", name)
		}
		return uintptr(arenas.Addr + off)
	}
	p.places.bitsNext, p.places.bitsCurrent, p.places.bitsPrevious = list("next"), list("current"), list("previous")
	first := l.Variable("runtime.firstmoduledata").Addr
	if err := l.Err(); err != nil {
		return nil, err
	}
	if err := p.addModules(l, first, largeVariables(names, bias)); err != nil {
		return nil, err
	}
	p.variables = image.Union(p.variables)
	return p, nil
}

// addModules adds the variables of each module and its tables (runtime/symtab.go, moduledata). It
// leaves out the program's large variables without pointers.
func (p *Plan) addModules(l *rtlayout.Lookup, first uint64, large []image.Range) error {
	const module = "runtime.moduledata"
	at := make(map[string]uint64)
	for _, field := range [...]string{
		"data", "edata", "bss", "ebss", "noptrdata", "enoptrdata", "noptrbss", "enoptrbss", "types",
		"text", "etext", "rodata", "epclntab", "next",
	} {
		at[field] = l.Offset(module, field)
	}
	size := l.Size(module)
	if err := l.Err(); err != nil {
		return err
	}
	word := func(a uint64) uint64 { return uint64(rawmem.Word(uintptr(a))) }
	var c image.Chain
	for m := first; m != 0; m = word(m + at["next"]) {
		if c.Returns(m) {
			return errors.New("the list of modules does not end")
		}
		p.variables = append(p.variables, image.Range{Addr: m, Len: size})
		for _, bounds := range [...][2]string{{"data", "edata"}, {"bss", "ebss"}} {
			p.variables = appendRange(p.variables, word(m+at[bounds[0]]), word(m+at[bounds[1]]))
		}
		for _, bounds := range [...][2]string{{"noptrdata", "enoptrdata"}, {"noptrbss", "enoptrbss"}} {
			lo, hi := word(m+at[bounds[0]]), word(m+at[bounds[1]])
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
		p.tables = appendRange(p.tables, word(m+at["text"]), word(m+at["etext"]))
		p.tables = appendRange(p.tables, word(m+at["rodata"]), word(m+at["epclntab"]))
		if types := word(m + at["types"]); types > word(m+at["epclntab"]) {
			p.tables = appendRange(p.tables, types, word(m+at["noptrdata"]))
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
