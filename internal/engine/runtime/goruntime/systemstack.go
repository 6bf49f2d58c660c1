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
	err = m.eachThread(func(mp, _ uint64) bool {
		g0 := m.Mem.U64(mp + m.thread.G0)
		if g0 == 0 {
			return true
		}
		all = append(all, SystemStack{
			SP:  m.Mem.U64(g0 + uint64(m.g.SP)),
			InC: m.Mem.U8(mp+m.thread.InC) != 0 || m.Mem.U8(mp+m.thread.Extra) != 0,
		})
		return true
	})
	return all, err
}
