package alloccode

// A place is a register, by its number in the machine, or a slot of the stack.
type place int64

const slotBit = place(1) << 40

// slot is the stack slot at an offset, in bytes, above the stack pointer.
func slot(offset int64) place { return slotBit + place(offset) }

// An operation is the effect of an instruction, as far as values are followed over it.
type operation uint8

const (
	opOther  operation = iota
	opConst            // to = constant
	opMove             // to = from
	opLoad             // to = memory at from + offset
	opStatic           // to = memory at constant
	opCall
	opJump
	opBranch
	opEnd // returns, or never continues
)

// An instruction is a decoded instruction of a function.
type instruction struct {
	at, next uint64 // its address, and that of the one after it
	op       operation
	to, from place
	offset   int64
	constant uint64
	target   uint64 // of a call or jump; 0: not known
	written  []place
	// range of the bytes on the stack that it writes, as offsets from the stack pointer
	slotsFrom, slotsTo int64
}

// A function is the decoded code of a function.
type function struct {
	name     string
	entry    uint64
	code     []instruction
	jumpsTo  map[uint64][]int // indices of jumps, by target
	callsAt  map[uint64]int   // index of the call, by each address within it
	contexts place            // register through which closures find their variables
	// computed says that the function has an indirect jump: it may lead to code that nothing else
	// leads to.
	computed bool
}

func newFunction(name string, entry uint64, code []instruction, context place) *function {
	f := &function{name: name, entry: entry, code: code, jumpsTo: make(map[uint64][]int), callsAt: make(map[uint64]int), contexts: context}
	for i := range code {
		x := &code[i]
		switch {
		case x.op == opCall:
			for at := x.at; at < x.next; at++ {
				f.callsAt[at] = i
			}
		case (x.op == opJump || x.op == opBranch) && x.target != 0:
			f.jumpsTo[x.target] = append(f.jumpsTo[x.target], i)
		case x.op == opJump:
			f.computed = true
		}
	}
	return f
}
