package dwarfread

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
)

// DWARF operations that place a variable in its frame, and those that say it is elsewhere (DWARF 5,
// section 7.7.1).
const (
	opConst1u      = 0x08
	opConst1s      = 0x09
	opConst2u      = 0x0a
	opConst2s      = 0x0b
	opConst4u      = 0x0c
	opConst4s      = 0x0d
	opConst8u      = 0x0e
	opConst8s      = 0x0f
	opConstu       = 0x10
	opConsts       = 0x11
	opPlus         = 0x22
	opPlusUconst   = 0x23
	opReg0         = 0x50
	opReg31        = 0x6f
	opRegx         = 0x90
	opFbreg        = 0x91
	opPiece        = 0x93
	opCallFrameCFA = 0x9c
	opAddr         = 0x03
)

// wholeVariable stands for the size of a place that holds the whole variable, until the type's size
// is known.
const wholeVariable = -1

// framePlaces appends the places in the frame that a location expression names. Parts that live in
// registers, and expressions of any other shape, have no place. The frame base of Go functions is
// the canonical frame address (go1.26 cmd/internal/dwarf/dwarf.go, putPrunedScopes), so DW_OP_fbreg
// counts from there.
func framePlaces(places []symindex.Place, expr []byte, low, high uint64) []symindex.Place {
	const (
		nowhere = iota
		inFrame
		elsewhere
	)
	var (
		c       = cursor{b: expr}
		start   = len(places)
		at      = nowhere
		cfaOff  int64
		pending int64 // operand of a following DW_OP_plus
		varOff  int64
		pieces  bool
	)
	for len(c.b) > 0 {
		switch op := c.u8(); {
		case op == opFbreg:
			at, cfaOff = inFrame, c.sleb()
		case op == opCallFrameCFA:
			at, cfaOff = inFrame, 0
		case op == opPlusUconst:
			cfaOff += int64(c.uleb())
		case op == opConstu:
			pending = int64(c.uleb())
		case op == opConsts:
			pending = c.sleb()
		case op >= opConst1u && op <= opConst8s:
			pending = c.constant(op)
		case op == opPlus:
			cfaOff += pending
		case op >= opReg0 && op <= opReg31:
			at = elsewhere
		case op == opRegx:
			c.uleb()
			at = elsewhere
		case op == opPiece:
			size := c.uleb()
			if size > math.MaxInt32 || c.bad {
				return places[:start]
			}
			pieces = true
			if at == inFrame {
				places = append(places, symindex.Place{Low: low, High: high, CFAOffset: cfaOff, VarOffset: varOff, Size: int64(size)})
			}
			varOff += int64(size)
			at = nowhere
		default:
			return places[:start]
		}
		if c.bad {
			return places[:start]
		}
	}
	if at == inFrame && !pieces {
		places = append(places, symindex.Place{Low: low, High: high, CFAOffset: cfaOff, Size: wholeVariable})
	}
	return places
}

// fixedAddress returns the address of a location expression that is just DW_OP_addr.
func fixedAddress(expr []byte) (uint64, bool) {
	if len(expr) != 9 || expr[0] != opAddr {
		return 0, false
	}
	return binary.LittleEndian.Uint64(expr[1:]), true
}

// cursor reads little-endian data and remembers if it ran past the end.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad = true
		c.b = nil
		return nil
	}
	t := c.b[:n]
	c.b = c.b[n:]
	return t
}

func (c *cursor) u8() byte {
	if t := c.take(1); t != nil {
		return t[0]
	}
	return 0
}

func (c *cursor) u16() uint16 { return uint16(c.uint(2)) }

func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }

// uint reads a number of one to eight bytes.
func (c *cursor) uint(size int) uint64 {
	var v uint64
	for i, b := range c.take(size) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// block takes n bytes.
func (c *cursor) block(n uint64) []byte {
	if n > uint64(len(c.b)) {
		n = uint64(len(c.b)) + 1 // which take refuses
	}
	return c.take(int(n))
}

// terminated takes the bytes before the next zero, and drops that.
func (c *cursor) terminated() []byte {
	n := bytes.IndexByte(c.b, 0)
	t := c.take(n)
	c.take(1)
	return t
}

func (c *cursor) u64() uint64 { return c.uint(8) }

// uleb reads an unsigned LEB128 number, which is also what encoding/binary calls a uvarint.
func (c *cursor) uleb() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.bad = true
		c.b = nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); shift < 70; shift += 7 {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.bad = true
	return 0
}

func (c *cursor) constant(op byte) int64 {
	switch op {
	case opConst1u:
		return int64(c.u8())
	case opConst1s:
		return int64(int8(c.u8()))
	case opConst2u:
		return int64(c.u16())
	case opConst2s:
		return int64(int16(c.u16()))
	case opConst4u:
		return int64(c.u32())
	case opConst4s:
		return int64(int32(c.u32()))
	default:
		return int64(c.u64())
	}
}
