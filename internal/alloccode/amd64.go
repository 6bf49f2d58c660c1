package alloccode

import (
	"encoding/binary"
	"strings"
)

// Registers by their number in instructions.
const (
	amd64AX, amd64CX, amd64DX, amd64BX place = 0, 1, 2, 3
	amd64SP, amd64SI, amd64DI          place = 4, 6, 7
)

// amd64Arguments are the registers of integer arguments, in order
// (src/cmd/compile/abi-internal.md).
var amd64Arguments = []place{amd64AX, amd64BX, amd64CX, amd64DI, amd64SI, 8, 9, 10, 11}

// The bytes that follow an opcode, by opcode: '.' none, 'm' a ModRM byte, '1', '2' and '4' an
// immediate of that many bytes (4 is 2 with an operand size of 16 bits), 'b' and 'w' a ModRM byte
// and an immediate of 1 and 4 bytes, 'v' the immediate of a register, of 8 bytes with REX.W, 'f'
// and 'F' a ModRM byte that has an immediate after it only in some groups, 'x' opcodes that 64-bit
// code does not have or the Go compiler and assembler do not emit. 'p' is a prefix.
const (
	amd64Opcodes = "" +
		"mmmm14xxmmmm14xp" + "mmmm14xxmmmm14xx" + "mmmm14pxmmmm14px" + "mmmm14pxmmmm14px" + // 00 to 3f
		"pppppppppppppppp" + "................" + "xxpmpppp4w1b...." + "1111111111111111" + // 40 to 7f
		"bwxbmmmmmmmmmmmm" + "..........x....." + "xxxx....14......" + "11111111vvvvvvvv" + // 80 to bf
		"bb2.ppbwx.2..1x." + "mmmmxxx.mmmmmmmm" + "1111111144x1...." + "p.pp..fF......mm" //   c0 to ff
	amd64Opcodes0F = "" +
		"mmmmx...xxx.xmxx" + "mmmmmmmmmmmmmmmm" + "xxxxxxxxmmmmmmmm" + "........pxpxxxxx" +
		"mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "bbbbmmm.xxxxmmmm" +
		"4444444444444444" + "mmmmmmmmmmmmmmmm" + "...mbmxx..xmbmmm" + "mmmmmmmmmxbmmmmm" +
		"mmbmbbbm........" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmm" + "mmmmmmmmmmmmmmmx"
)

// An amd64 is a decoded instruction.
type amd64 struct {
	length           int
	opcodes          byte // 0: one-byte opcodes; 1: after 0f; 2: after 0f 38; 3: after 0f 3a
	opcode           byte
	vector           bool  // VEX or EVEX
	third            place // register of VEX
	rexPresent, wide bool  // REX.W
	short            bool  // operands of 16 bits
	repeated         bool  // F3
	addressing       bool  // a prefix changes how memory is addressed
	hasModRM         bool
	mode, group      byte
	reg, rm          place // rm is the register if mode is 3, else the base
	relative         bool  // memory is relative to the next instruction
	onStack          bool  // memory is at the stack pointer, without an index
	based            bool  // memory is at a base register, without an index
	displacement     int64
	immediate        int64
	immediateSize    int
	rexR, rexX, rexB byte
}

// decodeAMD64 decodes the code of a function. It returns nil if an instruction is not known, since
// everything after it would be decoded out of step.
func decodeAMD64(entry uint64, code []byte) (list []instruction) {
	for at := entry; len(code) > 0; {
		var i amd64
		if !i.decode(code) {
			return nil
		}
		x := instruction{at: at, next: at + uint64(i.length)}
		x.setAMD64(&i)
		list = append(list, x)
		code = code[i.length:]
		at = x.next
	}
	return list
}

// decode decodes the first instruction of code; false if it is not known.
func (i *amd64) decode(code []byte) bool {
	at := i.prefixes(code)
	if at < 0 || at >= len(code) {
		return false
	}
	i.opcode = code[at]
	at++
	form := amd64Opcodes[i.opcode]
	switch {
	case i.vector:
		form = i.vectorForm()
	case i.opcode == 0x0f:
		if at >= len(code) {
			return false
		}
		i.opcodes, i.opcode = 1, code[at]
		at++
		form = amd64Opcodes0F[i.opcode]
		if i.opcode == 0x38 || i.opcode == 0x3a {
			i.opcodes, form = 2, 'm'
			if i.opcode == 0x3a {
				i.opcodes, form = 3, 'b'
			}
			if at >= len(code) {
				return false
			}
			i.opcode = code[at]
			at++
		}
	}
	if form == 'x' || form == 'p' {
		return false
	}
	if strings.IndexByte("mbwfF", form) >= 0 {
		if at = i.operands(code, at); at < 0 {
			return false
		}
	}
	i.immediateSize = i.immediateOf(form)
	if i.length = at + i.immediateSize; i.length > len(code) || i.length > 15 {
		return false
	}
	i.immediate = signedBytes(code[at:i.length])
	return true
}

// prefixes reads prefixes and returns the offset of the opcode, or -1.
func (i *amd64) prefixes(code []byte) int {
	for at, b := range code {
		switch b {
		case 0x66:
			i.short = true
		case 0xf2, 0xf0:
		case 0xf3:
			i.repeated = true
		case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67:
			i.addressing = true
		case 0xc4, 0xc5, 0x62:
			return i.vectorPrefix(code, at)
		default:
			if b&0xf0 == 0x40 {
				i.rexPresent, i.wide = true, b&8 != 0
				i.rexR, i.rexX, i.rexB = b<<1&8, b<<2&8, b<<3&8
				return at + 1
			}
			return at
		}
	}
	return -1
}

// vectorPrefix reads a VEX or EVEX prefix, in which some bits are inverted.
func (i *amd64) vectorPrefix(code []byte, at int) int {
	i.vector = true
	size := 2
	switch code[at] {
	case 0xc4:
		size = 3
	case 0x62:
		size = 4
	}
	if at+size > len(code) {
		return -1
	}
	p := code[at+1 : at+size]
	i.rexR, i.opcodes = ^p[0]>>4&8, 1
	last := p[0]
	if size > 2 {
		i.rexX, i.rexB, i.opcodes = ^p[0]>>3&8, ^p[0]>>2&8, p[0]&0x1f
		last = p[1]
		if size == 4 {
			i.opcodes = p[0] & 7
		}
	}
	i.third = place(^last >> 3 & 15)
	return at + size
}

func (i *amd64) vectorForm() byte {
	switch {
	case i.opcodes == 3, i.opcodes == 1 && amd64Opcodes0F[i.opcode] == 'b':
		return 'b'
	case i.opcodes == 1 && i.opcode == 0x77: // VZEROUPPER
		return '.'
	case i.opcodes == 1, i.opcodes == 2:
		return 'm'
	}
	return 'x'
}

// operands reads ModRM, SIB and displacement, and returns the offset after them, or -1.
func (i *amd64) operands(code []byte, at int) int {
	if at >= len(code) {
		return -1
	}
	b := code[at]
	at++
	i.hasModRM, i.mode, i.group = true, b>>6, b>>3&7
	i.reg, i.rm = place(i.group|i.rexR), place(b&7|i.rexB)
	if i.mode == 3 {
		return at
	}
	size := [4]int{0, 1, 4, 0}[i.mode]
	i.based = true
	switch b & 7 {
	case 4:
		if at >= len(code) {
			return -1
		}
		sib := code[at]
		at++
		i.rm = place(sib&7 | i.rexB)
		i.based = sib>>3&7|i.rexX == 4
		if sib&7 == 5 && i.mode == 0 {
			size, i.based = 4, false
		}
	case 5:
		if i.mode == 0 {
			size, i.based, i.relative = 4, false, true
		}
	}
	if at+size > len(code) {
		return -1
	}
	i.displacement = signedBytes(code[at : at+size])
	i.onStack = i.based && i.rm == amd64SP && !i.addressing
	return at + size
}

// immediateOf is the length of the immediate of a form, in bytes.
func (i *amd64) immediateOf(form byte) int {
	whole := 4
	if i.short && !i.wide {
		whole = 2
	}
	switch form {
	case '1', 'b':
		return 1
	case '2':
		return 2
	case '4', 'w':
		// Branches take 4 bytes whatever the operand size.
		if i.opcodes == 1 || i.opcode == 0xe8 || i.opcode == 0xe9 {
			return 4
		}
		return whole
	case 'v':
		if i.wide {
			return 8
		}
		return whole
	case 'f':
		if i.group < 2 {
			return 1
		}
	case 'F':
		if i.group < 2 {
			return whole
		}
	}
	return 0
}

// signedBytes decodes a signed number of 1, 2, 4 or 8 bytes.
func signedBytes(b []byte) int64 {
	switch len(b) {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case 8:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}
