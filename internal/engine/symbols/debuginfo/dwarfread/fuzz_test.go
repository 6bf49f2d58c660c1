package dwarfread

import (
	"bytes"
	"testing"
)

// FuzzLocation runs the readers of location expressions and lists on arbitrary bytes.
func FuzzLocation(f *testing.F) {
	f.Add([]byte{opFbreg, 0x70, opPiece, 8, opReg0, opPiece, 8}, int64(0), true)
	f.Add([]byte{lleBaseAddressx, 0, lleOffsetPair, 1, 2, 1, opCallFrameCFA, lleEndOfList}, int64(0), true)
	f.Add(bytes.Repeat([]byte{0xff}, 64), int64(3), false)
	f.Fuzz(func(t *testing.T, b []byte, off int64, dwarf5 bool) {
		for _, p := range framePlaces(nil, b, 1, 2) {
			if p.Size < 0 && p.Size != wholeVariable {
				t.Errorf("place %+v", p)
			}
		}
		l := lists{dwarf5: dwarf5, addr: b, addrBase: uint64(off), loc: b, rng: b}
		for _, s := range l.ranges(off) {
			if s.Low >= s.High {
				t.Errorf("range %+v", s)
			}
		}
		l.locations(off, func(_, _ uint64, expr []byte) { framePlaces(nil, expr, 0, 0) })
	})
}
