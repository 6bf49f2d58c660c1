package goruntime

import "encoding/binary"

func u16(b []byte, off uint64) uint16 { return binary.LittleEndian.Uint16(b[off:]) }
func u32(b []byte, off uint64) uint32 { return binary.LittleEndian.Uint32(b[off:]) }

func u64(b []byte, off uint64) uint64 { return binary.LittleEndian.Uint64(b[off:]) }

func words(b []byte) []uint64 {
	out := make([]uint64, len(b)/8)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return out
}
