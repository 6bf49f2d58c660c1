package alloccode

// An Effect is an instruction as this package decodes it, for comparison with disassemblers.
type Effect struct {
	Length int
	Target uint64 // of a direct call, jump or branch; 0 of others
	Leaves bool   // a call, jump, branch or return
	Writes []int  // integer registers, by number, that it may write; not those of calls
}

// Effects decodes the code of a function for a machine; nil if an instruction is not known.
func Effects(m *Machine, entry uint64, code []byte) (list []Effect) {
	for _, x := range m.decode(entry, code) {
		e := Effect{Length: int(x.next - x.at), Target: x.target}
		switch x.op {
		case opCall, opJump, opBranch, opEnd:
			e.Leaves = true
		case opConst, opMove, opLoad, opStatic:
			if x.to < slotBit {
				e.Writes = append(e.Writes, int(x.to))
			}
		}
		for _, p := range x.written {
			e.Writes = append(e.Writes, int(p))
		}
		list = append(list, e)
	}
	return list
}
