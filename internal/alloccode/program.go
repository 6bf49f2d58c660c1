package alloccode

import "strings"

// A Source has the code and the data of a program. Addresses are those of the program while it
// runs.
type Source interface {
	// FunctionAt returns the function that an address lies in: its name, where its code begins, and
	// the code, nil if there is none.
	FunctionAt(address uint64) (name string, entry uint64, code []byte)
	// NameAt returns the name of the function that an address lies in, "" if there is none.
	NameAt(address uint64) string
	// Word reads 8 bytes of data that the program does not change; false if there are none.
	Word(address uint64) (uint64, bool)
}

// A Program finds what the calls of a program allocate. It is not safe for concurrent use.
type Program struct {
	source    Source
	machine   *Machine
	types     *Types
	functions map[uint64]*function // by entry
}

// A Machine is the processor architecture of code: AMD64 or ARM64.
type Machine struct {
	decode    func(entry uint64, code []byte) []instruction
	arguments []place // registers of integer arguments, in order
	context   place   // register through which closures find their variables
}

// AMD64 is for GOARCH=amd64.
func AMD64() *Machine { return &Machine{decodeAMD64, amd64Arguments, amd64DX} }

// ARM64 is for GOARCH=arm64.
func ARM64() *Machine { return &Machine{decodeARM64, arm64Arguments, arm64Context} }

// New returns a Program that reads a source with code for a machine.
func New(m *Machine, source Source, types *Types) *Program {
	return &Program{source, m, types, make(map[uint64]*function)}
}

// HasPointers reports whether objects of the type at an address have pointers.
func (p *Program) HasPointers(descriptor uint64) bool { return p.types.HasPointers(descriptor) }

// nameAt is the name of the function at an address, "" if there is none.
func (p *Program) nameAt(address uint64) string { return p.source.NameAt(address) }

// functionAt decodes the function that an address lies in; nil if that is not possible.
func (p *Program) functionAt(address uint64) *function {
	name, entry, code := p.source.FunctionAt(address)
	if code == nil {
		return nil
	}
	f := p.functions[entry]
	if f == nil {
		f = newFunction(name, entry, p.machine.decode(entry, code), p.machine.context)
		p.functions[entry] = f
	}
	return f
}

// preserves reports whether a function leaves all registers as they are.
func (p *Program) preserves(target uint64) bool {
	return target != 0 && strings.HasPrefix(p.nameAt(target), "runtime.gcWriteBarrier")
}

// neverReturns reports whether a function of the runtime only ever panics.
func (p *Program) neverReturns(target uint64) bool {
	if target == 0 {
		return false
	}
	name, ok := strings.CutPrefix(p.nameAt(target), "runtime.")
	return ok && (strings.HasPrefix(name, "panic") || strings.HasPrefix(name, "goPanic") || name == "gopanic" || name == "throw" || name == "fatalthrow")
}
