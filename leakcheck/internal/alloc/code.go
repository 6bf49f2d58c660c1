package alloc

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/leakgate/leakgate/internal/alloccode"
	"github.com/leakgate/leakgate/internal/engine/memory/rawmem"
)

// running gives access to the machine code of this process. It is an alloccode.Source.
type running struct {
	low, high uint64 // address range of the code
	constants []span
	functions map[uint64][]byte // code by entry
}

type span struct{ low, high uint64 }

// The linker lets packages refer to this variable (go1.26 and 1.27 runtime/symtab.go).
//
//go:linkname lastmoduledatap runtime.lastmoduledatap
var lastmoduledatap unsafe.Pointer

// Words of runtime.moduledata, by their numbers. Those from etypes on differ by Go version.
const text, etext, data, types = 22, 23, 26, 37

type moduleWords struct{ etypes, rodata, epclntab, next int }

var moduleVersions = map[string]moduleWords{
	"go1.26.": {etypes: 38, rodata: 39, epclntab: 41, next: 73},
	"go1.27.": {etypes: 39, rodata: 42, epclntab: 44, next: 70},
}

// wordsOf returns the places of a Go version's words, and whether they are known: experiments may
// change them.
func wordsOf(version string) (words moduleWords, ok bool) {
	words, ok = moduleVersions[version[:min(len("go1.26."), len(version))]]
	return words, ok && !strings.Contains(version, "X:")
}

// ownCode reads this program, or returns nil if the address of its types is unknown, or it has more
// than one module.
func ownCode() *alloccode.Program {
	at, ok := wordsOf(runtime.Version())
	if !ok || ownMachine == nil {
		return nil
	}
	word := func(number int) uint64 { return uint64(rawmem.Word(uintptr(lastmoduledatap) + 8*uintptr(number))) }
	low, high := word(types), word(at.etypes)
	// The descriptor of another module is elsewhere.
	if self := uint64(typeAddress(beginMark{})); word(at.next) != 0 || self < low || self >= high {
		return nil
	}
	r := &running{low: word(text), high: word(etext), functions: make(map[uint64][]byte)}
	r.constants = []span{{word(at.rodata), word(at.epclntab)}}
	if low >= r.constants[0].high {
		// In position-independent programs constants with addresses in them are apart, before the
		// variables (cmd/link/internal/ld/data.go, dodata).
		r.constants = append(r.constants, span{low, word(data)})
	}
	return alloccode.New(ownMachine(), r, alloccode.NewTypes(low, rawmem.Bytes(uintptr(low), uintptr(high-low))))
}

// FunctionAt returns the function at an address, and its code up to the next function's.
func (r *running) FunctionAt(address uint64) (name string, entry uint64, code []byte) {
	f := r.function(address)
	if f == nil {
		return "", 0, nil
	}
	entry = uint64(f.Entry())
	code, ok := r.functions[entry]
	if !ok {
		code = rawmem.Bytes(uintptr(entry), uintptr(r.end(entry)-entry))
		r.functions[entry] = code
	}
	return r.NameAt(entry), entry, code
}

// end is where the next function begins.
func (r *running) end(entry uint64) uint64 {
	const alignment = 16 // of functions (go1.26, go1.27: cmd/link/internal/amd64/l.go, arm64/l.go)
	end := entry + alignment
	for next := r.function(end); next != nil && uint64(next.Entry()) == entry; next = r.function(end) {
		end += alignment
	}
	return min(end, r.high)
}

func (r *running) function(address uint64) *runtime.Func {
	if address < r.low || address >= r.high {
		return nil
	}
	return runtime.FuncForPC(uintptr(address))
}

// NameAt is the name of the function at an address, or of one that is inlined there.
func (r *running) NameAt(address uint64) string {
	if f := r.function(address); f != nil {
		return f.Name()
	}
	return ""
}

// Word reads a word from the constants.
func (r *running) Word(address uint64) (uint64, bool) {
	for _, c := range r.constants {
		if address%8 == 0 && address >= c.low && address < c.high && c.high-address >= 8 {
			return uint64(rawmem.Word(uintptr(address))), true
		}
	}
	return 0, false
}

// calls returns addresses within the calls of a stack, innermost first. Those before index outer
// are the runtime's at its inner end. The stack also has an entry for each inlined function, which
// made no call.
func calls(stack []uintptr) (list []uint64, outer int) {
	frame := func(i int) runtime.Frame {
		f, _ := runtime.CallersFrames(stack[i : i+1]).Next()
		return f
	}
	for i := 0; i < len(stack); {
		call, f := stack[i]-1, frame(i)
		for i++; i < len(stack) && f.Func == nil; i++ { // f is inlined
			into := frame(i)
			if into.Entry != f.Entry {
				break
			}
			f = into
		}
		inRuntime := strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "internal/runtime/")
		if inRuntime && outer == len(list) {
			outer++
		}
		list = append(list, uint64(call))
	}
	return list, outer
}
