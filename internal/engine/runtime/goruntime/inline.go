package goruntime

import "github.com/leakgate/leakgate/internal/symbol"

// Tables of inlined calls, and the identity of wrappers (internal/abi/symtab.go; the same in go1.26
// and go1.27).
const (
	funcIDWrapper = 23

	pcdataInlTreeIndex = 2
	funcdataInlTree    = 3
)

// inlinedCall is the size of a record of FUNCDATA_InlTree (runtime/symtabinl.go, inlinedCall:
// funcID uint8 and padding, nameOff, parentPc and startLine int32).
const inlinedCall = 16

// maxInlined bounds the depth of inlining, which a damaged table could make endless. The compiler's
// budget for a function (2,000 nodes with a profile; go1.26 cmd/compile/internal/inline) allows for
// less.
const maxInlined = 1 << 9

// maxCallNames bounds the names of one frame's calls, of functions and files together.
const maxCallNames = 1 << 16

// A Call is a logical frame: the function's own code, or the code of a function inlined into it.
type Call struct {
	Name      string
	File      string
	Line      int // position at the pc, or at the call of the next inner function
	StartLine int
}

// Calls returns the calls that a physical frame stands for at pc, the innermost inlined one first
// and the function itself last. For a return address give pc-1.
func (m *Model) Calls(f *Func, pc uint64) []Call {
	var calls []Call
	tree := f.funcdata(funcdataInlTree)
	names := 0
	for range maxInlined {
		file, line := m.Line(f, pc)
		index := int32(-1)
		if tree != 0 {
			index = m.pcdata(f, pcdataInlTreeIndex, pc)
		}
		if index < 0 {
			return append(calls, Call{f.Name, file, line, int(f.StartLine)})
		}
		rec := tree + inlinedCall*uint64(index)
		if !m.Mem.Try(rec, inlinedCall) {
			break
		}
		name := cstring(f.mod.funcnames, uint64(m.Mem.U32(rec+4)))
		if names += len(name) + len(file); names > maxCallNames {
			break
		}
		calls = append(calls, Call{Name: name, File: file, Line: line, StartLine: int(int32(m.Mem.U32(rec + 12)))})
		pc = f.Entry + uint64(m.Mem.U32(rec+8))
	}
	m.Warn("the inlining table of %s is damaged", f.Name)
	file, line := m.Line(f, pc)
	return append(calls, Call{f.Name, file, line, int(f.StartLine)})
}

// Wrapper reports whether the compiler made the function only to call another function: for go
// statements with arguments, for deferred calls, for methods of embedded fields. Tracebacks leave
// such functions out.
func (f *Func) Wrapper() bool { return f.id == funcIDWrapper }

// CallPC returns the pc to look up a frame's source position with. If a signal or the scheduler
// faked the call (runtime/traceback.go, unwindTrap), that is the frame's own pc, else a pc within
// the call before the return address. callee is the next inner frame's function, nil for the
// innermost frame.
func (fr *Frame) CallPC(callee *Func) uint64 {
	if callee != nil {
		switch callee.id {
		case funcIDSigpanic, funcIDAsyncPreempt, funcIDDebugCallV2:
			return fr.PC
		}
	}
	if fr.PC > fr.Func.Entry {
		return fr.PC - 1
	}
	return fr.PC
}

// StackCalls names the functions of a stack of return addresses, the innermost first, without those
// of the runtime at its inner end, such as the allocator. The runtime's stacks have an address for
// each inlined function, too, of which the innermost tells all.
func (m *Model) StackCalls(stack []uint64) (calls []Call) {
	for i := 0; i < len(stack); {
		pc := stack[i] - 1
		i++
		f := m.FuncAt(pc)
		if f == nil {
			continue
		}
		at := m.Calls(f, pc)
		for inlined := len(at) - 1; inlined > 0 && i < len(stack); inlined-- {
			if outer := m.FuncAt(stack[i] - 1); outer == nil || outer.Entry != f.Entry {
				break
			}
			i++
		}
		for _, c := range at {
			if c.Name != "runtime.goexit" && (len(calls) > 0 || !symbol.IsRuntime(symbol.Package(c.Name))) {
				calls = append(calls, c)
			}
		}
	}
	return calls
}
