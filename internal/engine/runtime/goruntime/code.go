package goruntime

import (
	"encoding/binary"
	"sort"
)

// maxCode bounds how much of a function's code is read.
const maxCode = 1 << 20

// AddressesIn is AddressesOf for a function.
func (m *Model) AddressesIn(f *Func, visit func(next, addr uint64, called bool)) {
	mod := f.mod
	entry := func(i int) uint64 { return mod.text + uint64(binary.LittleEndian.Uint32(mod.ftab[8*i:])) }
	i := sort.Search(mod.nftab, func(i int) bool { return entry(i) > f.Entry })
	if i >= mod.nftab || entry(i)-f.Entry > maxCode {
		return
	}
	AddressesOf(m.Mem.Bytes(f.Entry, entry(i)-f.Entry), f.Entry, m.arch.usesLR, visit)
}

// AddressesOf calls visit with the addresses that code computes from the program counter, of type
// descriptors and functions, say, and with those that it calls: 0 if it reads them from a register
// or memory. next is the address behind the instructions. What looks like that in the middle of an
// instruction counts, too. The code lies at an address, and is that of arm64 or else of amd64.
func AddressesOf(code []byte, at uint64, arm64 bool, visit func(next, addr uint64, called bool)) {
	if arm64 {
		addressesOfARM64(code, at, visit)
	} else {
		addressesOfAMD64(code, at, visit)
	}
}

// addressesOfAMD64 finds LEAQ displacement(RIP), register, which is a REX.W prefix with or without
// the bit for the upper registers, the opcode, a ModRM byte for RIP and the displacement, CALL
// displacement, and CALL by a register or a pointer in memory.
func addressesOfAMD64(code []byte, at uint64, visit func(next, addr uint64, called bool)) {
	relative := func(i int) uint64 {
		return at + uint64(i) + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i:]))))
	}
	for i := 0; i+7 <= len(code); i++ {
		switch {
		case code[i]&^4 == 0x48 && code[i+1] == 0x8d && code[i+2]&0xc7 == 0x05:
			visit(at+uint64(i)+7, relative(i+3), false)
		case code[i] == 0xe8:
			visit(at+uint64(i)+5, relative(i+1), true)
		case code[i] == 0xff && code[i+1]>>3&7 == 2:
			visit(at+uint64(i)+2, 0, true)
		}
	}
}

// addressesOfARM64 finds ADRP page, register, with ADD $offset, register, register behind it, BL,
// and BLR.
func addressesOfARM64(code []byte, at uint64, visit func(next, addr uint64, called bool)) {
	for i := 0; i+8 <= len(code); i += 4 {
		x, add := binary.LittleEndian.Uint32(code[i:]), binary.LittleEndian.Uint32(code[i+4:])
		switch pc := at + uint64(i); {
		case x&0xfc000000 == 0x94000000:
			visit(pc+4, pc+uint64(int64(int32(x<<6))>>4), true)
		case x&0xfffffc1f == 0xd63f0000:
			visit(pc+4, 0, true)
		case x&0x9f000000 == 0x90000000 && add&0xffc00000 == 0x91000000 && add>>5&31 == x&31:
			pages := int64(int32((x>>5&0x7ffff<<2|x>>29&3)<<11)) >> 11
			visit(pc+8, pc&^0xfff+uint64(pages<<12)+uint64(add>>10&0xfff), false)
		}
	}
}

// IsDescriptor reports whether an address may be that of a type's descriptor.
func (m *Model) IsDescriptor(addr uint64) bool { return addr%8 == 0 && m.moduleOfType(addr) != nil }
