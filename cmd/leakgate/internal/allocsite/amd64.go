package allocsite

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Registers by their number in instructions.
const (
	amd64AX, amd64CX, amd64DX, amd64BX place = 0, 1, 2, 3
	amd64SI, amd64DI                   place = 6, 7
)

// amd64Arguments are the registers of integer arguments, in order (src/cmd/compile/abi-internal.md).
var amd64Arguments = []place{amd64AX, amd64BX, amd64CX, amd64DI, amd64SI, 8, 9, 10, 11}

// amd64Register returns the register that r is, or is a part of.
func amd64Register(r x86asm.Reg) (place, bool) {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return place(r - x86asm.AL), true
	case r >= x86asm.AH && r <= x86asm.BH:
		return place(r - x86asm.AH), true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return place(r-x86asm.SPB) + 4, true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return place(r - x86asm.AX), true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return place(r - x86asm.EAX), true
	case r >= x86asm.RAX && r <= x86asm.R15:
		return place(r - x86asm.RAX), true
	}
	return 0, false
}

func isWhole(r x86asm.Reg) bool { return r >= x86asm.RAX && r <= x86asm.R15 }

// decodeAMD64 reads the code of a function.
func decodeAMD64(entry uint64, code []byte) (list []instruction) {
	for at := entry; len(code) > 0; {
		i, err := x86asm.Decode(code, 64)
		if err != nil || i.Len == 0 {
			return nil // what follows would be read out of step
		}
		x := instruction{at: at, next: at + uint64(i.Len)}
		x.setAMD64(i)
		list = append(list, x)
		code = code[i.Len:]
		at = x.next
	}
	return list
}

func (x *instruction) setAMD64(i x86asm.Inst) {
	switch i.Op {
	case x86asm.CALL:
		x.op = opCall
		x.aim(i)
	case x86asm.JMP:
		x.op = opJump
		x.aim(i)
	case x86asm.RET, x86asm.UD2, x86asm.INT:
		x.op = opEnd
	case x86asm.CMP, x86asm.TEST, x86asm.NOP, x86asm.BT, x86asm.UCOMISD, x86asm.UCOMISS:
	case x86asm.LEA:
		to, _ := amd64Register(i.Args[0].(x86asm.Reg))
		m := i.Args[1].(x86asm.Mem)
		if m.Base == x86asm.RIP && m.Index == 0 {
			x.op, x.to, x.constant = opConst, to, uint64(int64(x.next)+m.Disp)
		} else {
			x.written = []place{to}
		}
	case x86asm.MOV:
		x.setMove(i)
	default:
		if slices.Contains(amd64Branches, i.Op) {
			x.op = opBranch
			x.aim(i)
			return
		}
		x.setOther(i)
	}
}

var amd64Branches = []x86asm.Op{
	x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JCXZ, x86asm.JE, x86asm.JECXZ, x86asm.JG, x86asm.JGE, x86asm.JL, x86asm.JLE,
	x86asm.JNE, x86asm.JNO, x86asm.JNP, x86asm.JNS, x86asm.JO, x86asm.JP, x86asm.JRCXZ, x86asm.JS,
}

// aim sets where a call or jump goes.
func (x *instruction) aim(i x86asm.Inst) {
	if r, ok := i.Args[0].(x86asm.Rel); ok {
		x.target = uint64(int64(x.next) + int64(r))
	}
}

func (x *instruction) setMove(i x86asm.Inst) {
	switch to := i.Args[0].(type) {
	case x86asm.Reg:
		register, ok := amd64Register(to)
		if !ok {
			return
		}
		x.written = []place{register}
		switch from := i.Args[1].(type) {
		case x86asm.Reg:
			if source, ok := amd64Register(from); ok && isWhole(to) {
				x.op, x.to, x.from, x.written = opMove, register, source, nil
			}
		case x86asm.Mem:
			x.setLoad(register, to, from)
		case x86asm.Imm:
			x.op, x.to, x.constant, x.written = opConst, register, uint64(from), nil
		}
	case x86asm.Mem:
		from, ok := i.Args[1].(x86asm.Reg)
		source, known := amd64Register(from)
		if ok && known && isWhole(from) && to.Base == x86asm.RSP && to.Index == 0 {
			x.op, x.to, x.from = opMove, slot(to.Disp), source
			return
		}
		x.writesSlots(i)
	}
}

func (x *instruction) setLoad(register place, to x86asm.Reg, from x86asm.Mem) {
	if !isWhole(to) || from.Index != 0 || from.Segment != 0 {
		return
	}
	switch base, ok := amd64Register(from.Base); {
	case from.Base == x86asm.RSP:
		x.op, x.to, x.from, x.written = opMove, register, slot(from.Disp), nil
	case from.Base == x86asm.RIP:
		x.op, x.to, x.constant, x.written = opStatic, register, uint64(int64(x.next)+from.Disp), nil
	case ok:
		x.op, x.to, x.from, x.offset, x.written = opLoad, register, base, from.Disp, nil
	}
}

// setOther notes what an instruction writes that is not followed.
func (x *instruction) setOther(i x86asm.Inst) {
	first, isRegister := i.Args[0].(x86asm.Reg)
	register, ok := amd64Register(first)
	if i.Op == x86asm.XOR {
		if second, same := i.Args[1].(x86asm.Reg); isRegister && ok && same && first == second {
			x.op, x.to, x.constant = opConst, register, 0
			return
		}
	}
	if isRegister && ok && i.Op != x86asm.PUSH {
		x.written = append(x.written, register)
	}
	x.writesSlots(i)
	switch i.Op {
	case x86asm.XCHG, x86asm.XADD:
		if second, ok := i.Args[1].(x86asm.Reg); ok {
			if register, ok := amd64Register(second); ok {
				x.written = append(x.written, register)
			}
		}
	case x86asm.MUL, x86asm.IMUL, x86asm.DIV, x86asm.IDIV, x86asm.CQO, x86asm.CDQ, x86asm.CMPXCHG, x86asm.CPUID, x86asm.RDTSC:
		x.written = append(x.written, amd64AX, amd64DX)
	case x86asm.STOSQ, x86asm.MOVSQ, x86asm.STOSB, x86asm.MOVSB:
		x.written = append(x.written, amd64CX, amd64SI, amd64DI)
	}
}

// writesSlots notes the bytes of the stack that the first operand is.
func (x *instruction) writesSlots(i x86asm.Inst) {
	m, ok := i.Args[0].(x86asm.Mem)
	if !ok || m.Base != x86asm.RSP || m.Index != 0 {
		return
	}
	x.slotsFrom, x.slotsTo = m.Disp, m.Disp+int64(max(i.MemBytes, 8))
}
