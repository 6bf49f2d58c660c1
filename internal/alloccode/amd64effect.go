package alloccode

// What instructions write or do, by opcode: '.' nothing that matters, 'o' the operand of ModRM, 'r'
// the register of ModRM, 'x' both, 'A' the accumulator, 'a' it and DX, 'd' it and the operand, 's'
// the registers of string operations, 'q' those of CPUID and the like, 'p' the register in the
// opcode, 'P' it and the accumulator, 'b' a branch, 'j' a jump, 'c' a call, 'e' the end, 'm' a
// move, 'i' a move of an immediate, 'l' LEA, 'z' XOR; 'f', 'g', 'h', 'n' and 'v' depend on the
// group or the prefix.
const (
	amd64Effects = "" +
		"oorrAA..oorrAA.." + "oorrAA..oorrAA.." + "oorrAA..oorrAA.." + "ozrzAA.........." + // 00 to 3f
		"................" + "........pppppppp" + "...r.....r.r...." + "bbbbbbbbbbbbbbbb" + // 40 to 7f
		"gg.g..xxmmmmol.o" + "PPPPPPPPaa.....A" + "....ssss..ssssss" + "iiiiiiiiiiiiiiii" + // 80 to bf
		"ooee..ii..eeee.e" + "oooo....oooooooo" + "bbbb....cj.j...." + "......ff......oh" //  c0 to ff
	amd64Effects0F = "" +
		"oqrr.q.....e...." + ".o.o...o........" + ".........o.orr.." + "qqqqqqqq........" +
		"rrrrrrrrrrrrrrrr" + "r..............." + "................" + "..............vo" +
		"bbbbbbbbbbbbbbbb" + "oooooooooooooooo" + "..q.oo.....oooor" + "ddrorrrrr.norrrr" +
		"xx.o.r.qpppppppp" + "......or........" + ".......o........" + "................"
)

// setAMD64 sets the effect of an instruction. If its details are not known, it writes its operands.
func (x *instruction) setAMD64(i *amd64) {
	switch i.opcodes {
	case 0:
		x.setEffect(i, amd64Effects[i.opcode])
	case 1:
		if !i.vector {
			x.setEffect(i, amd64Effects0F[i.opcode])
			return
		}
		fallthrough
	default: // vectors, CRC32, MOVBE, PEXTRQ
		x.writes(i.third)
		x.setEffect(i, 'x')
	}
}

func (x *instruction) writes(p ...place) { x.written = append(x.written, p...) }

// writesOperand notes that the operand of ModRM is written.
func (x *instruction) writesOperand(i *amd64) {
	switch {
	case !i.hasModRM:
	case i.mode == 3:
		x.writes(i.rm, i.register(i.rm))
	case i.onStack:
		x.slotsFrom, x.slotsTo = i.displacement, i.displacement+8
		if i.opcodes != 0 {
			x.slotsTo += 8 // of a vector
		}
		if i.vector {
			x.slotsTo += 48
		}
	}
}

// register is the register that a number refers to: in operations on bytes without REX, the numbers
// from 4 on refer to the second byte of a register.
func (i *amd64) register(number place) place {
	if i.opcodes == 0 && i.opcode&1 == 0 && !i.rexPresent && number >= 4 && number < 8 {
		return number - 4
	}
	return number
}

func (x *instruction) setEffect(i *amd64, effect byte) {
	inOpcode := place(i.opcode&7 | i.rexB)
	switch effect {
	case 'r', 'x':
		x.writes(i.reg, i.register(i.reg))
	case 'A', 'd':
		x.writes(amd64AX)
	case 'a':
		x.writes(amd64AX, amd64DX)
	case 'q', 's':
		x.writes(amd64AX, amd64BX, amd64CX, amd64DX, amd64SI, amd64DI, 11)
	case 'p':
		x.writes(inOpcode)
	case 'P':
		if inOpcode != amd64AX { // XCHG of AX with itself is a NOP
			x.writes(amd64AX, inOpcode)
		}
	case 'b':
		x.op = opBranch
	case 'j':
		x.op = opJump
	case 'c':
		x.op = opCall
	case 'e':
		x.op = opEnd
	case 'm':
		x.setMove(i)
	case 'i':
		x.setImmediate(i, inOpcode)
	case 'l':
		x.writes(i.reg)
		if i.relative && i.wide && !i.addressing {
			x.isConstant(i.reg, uint64(int64(x.next)+i.displacement))
		}
	default:
		x.setOther(i, effect)
	}
	switch effect {
	case 'b', 'j', 'c':
		x.target = uint64(int64(x.next) + i.immediate)
	case 'o', 'x', 'd', 'q':
		x.writesOperand(i)
	}
}

func (x *instruction) isConstant(to place, constant uint64) {
	x.op, x.to, x.constant, x.written = opConst, to, constant, nil
}

// setOther handles effects that depend on the group, the operands or the prefix.
func (x *instruction) setOther(i *amd64, effect byte) {
	switch {
	case effect == 'z' && i.mode == 3 && i.reg == i.rm: // a register with itself
		x.isConstant(i.reg, 0)
	case effect == 'z':
		x.writes(i.reg)
		x.writesOperand(i)
	case effect == 'h' && i.group >= 2: // an indirect call or jump, or PUSH
		x.op = [8]operation{2: opCall, 3: opCall, 4: opJump, 5: opJump}[i.group]
	case effect == 'f' && i.group >= 2: // all but TEST
		x.writes(amd64AX, amd64DX)
		x.writesOperand(i)
	case effect == 'g' && i.group != 7 /* CMP */, effect == 'n' && i.group != 4 /* BT */, effect == 'v' && !i.repeated, effect == 'h':
		x.writesOperand(i)
	}
}

// setMove handles MOV between registers and memory.
func (x *instruction) setMove(i *amd64) {
	load := i.opcode >= 0x8a
	to, from := i.rm, i.reg
	if load {
		to, from = i.reg, i.rm
	}
	if i.onStack {
		if load {
			from = slot(i.displacement)
		} else {
			to = slot(i.displacement)
		}
	}
	switch {
	case i.opcode&1 == 0 || !i.wide: // a part of a register or of a slot
		if load {
			x.writes(to, i.register(to))
		} else {
			x.writesOperand(i)
		}
	case i.mode == 3 || i.onStack:
		x.op, x.to, x.from = opMove, to, from
	case !load:
	case i.addressing || !i.relative && !i.based:
		x.writes(to)
	case i.relative:
		x.op, x.to, x.constant = opStatic, to, uint64(int64(x.next)+i.displacement)
	default:
		x.op, x.to, x.from, x.offset = opLoad, to, from, i.displacement
	}
}

// setImmediate handles MOV of an immediate.
func (x *instruction) setImmediate(i *amd64, inOpcode place) {
	to := i.rm
	if i.opcode < 0xc0 {
		to = inOpcode
	}
	switch {
	case i.hasModRM && i.mode != 3:
		x.writesOperand(i)
	case i.opcode < 0xb8 || i.opcode == 0xc6 || i.short:
		x.writes(to)
		if !i.rexPresent && to >= 4 {
			x.writes(to - 4)
		}
	case i.wide:
		x.isConstant(to, uint64(i.immediate))
	default:
		x.isConstant(to, uint64(uint32(i.immediate)))
	}
}
