package alloccode

import "encoding/binary"

// arm64SP is the register number of the stack pointer in addresses, and of zero elsewhere.
const arm64SP = 31

// arm64Context is the register through which closures find their variables.
const arm64Context place = 26

// arm64Arguments are the registers of integer arguments, in order.
var arm64Arguments = []place{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// signed sign-extends the lowest bits of v.
func signed(v uint32, bits uint) int64 { return int64(int32(v<<(32-bits))) >> (32 - bits) }

// decodeARM64 decodes the code of a function. An address of static data takes two instructions,
// ADRP and ADD; the second becomes a constant.
func decodeARM64(entry uint64, code []byte) (list []instruction) {
	for at := entry; len(code) >= 4; at, code = at+4, code[4:] {
		word := binary.LittleEndian.Uint32(code)
		x := instruction{at: at, next: at + 4}
		if !x.setARM64Jump(word) && !x.setARM64Move(word, list) {
			x.setARM64Other(word)
		}
		list = append(list, x)
	}
	return list
}

// setARM64Jump decodes calls, jumps, branches and returns; it reports whether the instruction is
// one.
func (x *instruction) setARM64Jump(word uint32) bool {
	relative := func(v uint32, bits uint) uint64 { return uint64(int64(x.at) + signed(v, bits)*4) }
	switch {
	case word&0xfc000000 == 0x94000000: // BL
		x.op, x.target = opCall, relative(word&0x3ffffff, 26)
	case word&0xfffffc1f == 0xd63f0000: // BLR
		x.op = opCall
	case word&0xfc000000 == 0x14000000: // B
		x.op, x.target = opJump, relative(word&0x3ffffff, 26)
	case word&0xfffffc1f == 0xd61f0000: // BR
		x.op = opJump
	case word&0xff000010 == 0x54000000, word&0x7e000000 == 0x34000000: // B.cond, CBZ, CBNZ
		x.op, x.target = opBranch, relative(word>>5&0x7ffff, 19)
	case word&0x7e000000 == 0x36000000: // TBZ, TBNZ
		x.op, x.target = opBranch, relative(word>>5&0x3fff, 14)
	case word&0xfffffc1f == 0xd65f0000, word&0xffe0001f == 0xd4200000: // RET, BRK
		x.op = opEnd
	default:
		return false
	}
	return true
}

// setARM64Move decodes instructions over which values are followed; it reports whether this is one.
func (x *instruction) setARM64Move(word uint32, before []instruction) bool {
	to, base := place(word&31), place(word>>5&31)
	switch {
	case word&0x9f000000 == 0x90000000: // ADRP
		page := signed(word>>5&0x7ffff<<2|word>>29&3, 21) << 12
		x.op, x.to, x.constant = opConst, to, uint64(int64(x.at&^0xfff)+page)
	case word&0xffc00000 == 0x91000000 && base != arm64SP && to != arm64SP: // ADD of a number
		x.written = []place{to}
		if n := len(before) - 1; n >= 0 && before[n].op == opConst && before[n].to == base {
			x.op, x.to, x.constant, x.written = opConst, to, before[n].constant+uint64(word>>10&0xfff), nil
		}
	case word&0xffc00000 == 0xf9400000 && base == arm64SP: // LDR of a slot
		x.op, x.to, x.from = opMove, to, slot(int64(word>>10&0xfff)*8)
	case word&0xffc00000 == 0xf9400000: // LDR
		x.op, x.to, x.from, x.offset = opLoad, to, base, int64(word>>10&0xfff)*8
	case word&0xffc00000 == 0xf9000000 && base == arm64SP: // STR to a slot
		x.op, x.to, x.from = opMove, slot(int64(word>>10&0xfff)*8), to
		if to == arm64SP { // zero
			x.op = opConst
		}
	case word&0xffe0ffe0 == 0xaa0003e0: // MOV
		x.op, x.to, x.from = opMove, to, place(word>>16&31)
		if x.from == arm64SP { // zero
			x.op = opConst
		}
	default:
		return false
	}
	return true
}

// setARM64Other notes what any other instruction writes: the register in its lowest bits, unless it
// is known to write no register there.
func (x *instruction) setARM64Other(word uint32) {
	to, base, second := place(word&31), place(word>>5&31), place(word>>10&31)
	isVector, isLoad := word>>26&1 == 1, word>>22&3 != 0
	stores := func(offset, size int64) {
		if base == arm64SP {
			x.slotsFrom, x.slotsTo = offset, offset+size
		}
	}
	switch {
	case word&0x3a000000 == 0x28000000: // LDP, STP
		size := int64(4) << (word >> 31)
		if isVector {
			size = 4 << (word >> 30)
		}
		switch {
		case word>>22&1 == 0:
			stores(signed(word>>15&0x7f, 7)*size, 2*size)
		case !isVector:
			x.written = []place{to, second}
		}
		if word>>23&1 == 1 { // the base moves
			x.written = append(x.written, base)
		}
	case word&0x3b000000 == 0x39000000, word&0x3b200000 == 0x38000000: // LDR, STR
		scale := word >> 30
		if isVector && word>>23&1 == 1 {
			scale, isLoad = 4, word>>22&1 == 1
		}
		hasSign := word&0x01000000 == 0
		offset := int64(word>>10&0xfff) << scale
		if hasSign {
			offset = signed(word>>12&0x1ff, 9)
		}
		switch {
		case !isLoad:
			stores(offset, 1<<scale)
		case !isVector:
			x.written = []place{to}
		}
		if hasSign && word>>10&1 == 1 { // the base moves
			x.written = append(x.written, base)
		}
	case word&0x3b200c00 == 0x38200800 && !isLoad: // STR with an index
	case word&0x3f000000 == 0x08000000: // LDXR, STXR, CAS and the like
		x.written = []place{to, second, place(word >> 16 & 31)}
	case word&0x3fe00410 == 0x3a400000: // CCMP, CCMN
	default:
		x.written = []place{to}
	}
}
