package goruntime

// A SystemStack is the stack that a thread of the Go runtime has from the system. C code runs on it.
type SystemStack struct {
	// Behind SP the stack is in use, by what started the thread or called Go code. What is before is
	// that of the runtime, or of nobody, unless InC.
	SP  uint64
	InC bool // the thread runs C code, which has more of the stack
}

// SystemStacks lists the stacks of all threads that the runtime knows (runtime/runtime2.go, m). Of
// a thread that C code started it knows no more than where that last called Go code.
func (m *Model) SystemStacks() (all []SystemStack, err error) {
	inC, knows := m.fields.Maybe("runtime.m", "incgo")
	extra, hasExtra := m.fields.Maybe("runtime.m", "isExtraInC")
	err = m.eachThread(func(f *threadFields, mp, _ uint64) bool {
		g0 := m.Mem.U64(mp + f.g0)
		if g0 == 0 {
			return true
		}
		s := SystemStack{SP: m.Mem.U64(g0 + f.schedSP)}
		s.InC = !knows || !hasExtra || m.Mem.U8(mp+inC) != 0 || m.Mem.U8(mp+extra) != 0
		all = append(all, s)
		return true
	})
	return all, err
}
