package alloc

import (
	"runtime"
	"strings"

	"github.com/leakgate/leakgate/internal/alloccode"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// running gives access to the machine code of this process. It is an alloccode.Source.
type running struct {
	low, high uint64 // address range of the code
	constants []span
	functions map[uint64][]byte // code by entry
}

type span struct{ low, high uint64 }

// ownCode reads this program, or returns nil if the address of its types is unknown, or it has more
// than one module.
func ownCode() *alloccode.Program {
	m, ok := rtlayout.OwnModule(runtime.Version())
	if !ok || ownMachine == nil {
		return nil
	}
	// The descriptor of another module is elsewhere.
	if self := typeAddress(beginMark{}); m.Next != 0 || self < m.Types || self >= m.TypesEnd {
		return nil
	}
	r := &running{low: uint64(m.Text), high: uint64(m.TextEnd), functions: make(map[uint64][]byte)}
	r.constants = []span{{uint64(m.ROData), uint64(m.LinesEnd)}}
	if m.Types >= m.LinesEnd {
		// In position-independent programs constants with addresses in them are apart, before the
		// variables (cmd/link/internal/ld/data.go, dodata).
		r.constants = append(r.constants, span{uint64(m.Types), uint64(m.Data)})
	}
	return alloccode.New(ownMachine(), r, alloccode.NewTypes(uint64(m.Types), offheap.Bytes(m.Types, m.TypesEnd-m.Types)))
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
		code = offheap.Bytes(uintptr(entry), uintptr(r.end(entry)-entry))
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
			return uint64(offheap.Word(uintptr(address))), true
		}
	}
	return 0, false
}

// callsIn returns addresses within the calls of a stack, innermost first. Those before index outer
// are the runtime's at its inner end. The stack also has an entry for each inlined function, which
// made no call.
func callsIn(stack []uintptr) (list []uint64, outer int) {
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
