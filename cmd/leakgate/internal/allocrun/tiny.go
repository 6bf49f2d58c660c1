package allocrun

import (
	"debug/elf"
	"encoding/binary"
	"strings"
)

// The runtime puts objects below 16 bytes without pointers together into blocks of 16 bytes, of
// which the memory profiler counts only the first object (go1.26, go1.27: runtime/malloc.go,
// mallocgcTiny). In a test binary that leakgate built, each such object has a block of its own, as
// with -race: the runtime's functions for tiny objects jump to those that allocate objects of 16
// bytes, which have the same parameters. So the profile has each object, as the trace has.

// separateTiny changes these functions in the executable file.
func (b *testBinary) separateTiny(f *elf.File, symbols map[string]elf.Symbol) error {
	const general, one, ofSize = "runtime.mallocgcTiny", "runtime.mallocgcTinySC2", "runtime.mallocgcTinySize"
	found := false
	for name, s := range symbols {
		instead, zeroed := "runtime.mallocgcSmallNoScanSC2", false
		switch {
		case name == general: // it always zeroes memory, and has no parameter that asks for it
			instead, zeroed = "runtime.mallocgcSmallNoscan", true
		case name == one || strings.HasPrefix(name, ofSize): // go1.27; go1.26
		default:
			continue
		}
		target, ok := symbols[instead]
		if !ok {
			return unknownRuntime(instead)
		}
		if err := overwrite(b.path, f, s, jump(f.Machine, s.Value, target.Value, zeroed)); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return unknownRuntime(general)
	}
	return nil
}

// jump returns code, for an address, that jumps to a function. With zeroed it sets the function's
// third argument to true.
func jump(machine elf.Machine, at, target uint64, zeroed bool) (code []byte) {
	if machine == elf.EM_AARCH64 {
		if zeroed {
			code = binary.LittleEndian.AppendUint32(code, 0xd2800022) // MOVD $1, R2
		}
		distance := int64(target-at) - int64(len(code))
		return binary.LittleEndian.AppendUint32(code, 0x14000000|uint32(distance>>2)&0x03ffffff) // B
	}
	if zeroed {
		code = append(code, 0xb9, 1, 0, 0, 0) // MOVL $1, CX
	}
	code = append(code, 0xe9) // JMP
	return binary.LittleEndian.AppendUint32(code, uint32(int64(target-at)-int64(len(code))-4))
}
