package goruntime

// A SystemStack is the stack that the operating system gave to a thread of the Go runtime. C code
// runs on it.
type SystemStack struct {
	// From SP up, the stack is used by the code that started the thread or called Go code. Below SP
	// the memory is the runtime's, or unused, unless InC.
	SP  uint64
	InC bool // the thread runs C code, which uses more of the stack
}

// SystemStacks lists the stacks of all threads that the runtime knows (runtime/runtime2.go, m). Of
// a thread that C code started, the runtime knows only the stack pointer of its last call of Go
// code.
func (m *Model) SystemStacks() (all []SystemStack, err error) {
	inC, knows := m.fields.Maybe("runtime.m", "incgo")
	extra, hasExtra := m.fields.Maybe("runtime.m", "isExtraInC")
	err = m.eachThread(func(mp, _ uint64) bool {
		g0 := m.Mem.U64(mp + m.thread.G0)
		if g0 == 0 {
			return true
		}
		s := SystemStack{SP: m.Mem.U64(g0 + uint64(m.g.SP))}
		s.InC = !knows || !hasExtra || m.Mem.U8(mp+inC) != 0 || m.Mem.U8(mp+extra) != 0
		all = append(all, s)
		return true
	})
	return all, err
}
