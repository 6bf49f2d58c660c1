package dwarfread

import "github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"

// Location and range lists, DWARF 5 (sections 7.7.3 and 7.25) and DWARF 4 (2.6.2 and 2.17.3;
// GOEXPERIMENT=nodwarf5).
const (
	lleEndOfList       = 0x00
	lleBaseAddressx    = 0x01
	lleStartxEndx      = 0x02
	lleStartxLength    = 0x03
	lleOffsetPair      = 0x04
	lleDefaultLocation = 0x05
	lleBaseAddress     = 0x06
	lleStartEnd        = 0x07
	lleStartLength     = 0x08

	rleEndOfList    = 0x00
	rleBaseAddressx = 0x01
	rleStartxEndx   = 0x02
	rleStartxLength = 0x03
	rleOffsetPair   = 0x04
	rleBaseAddress  = 0x05
	rleStartEnd     = 0x06
	rleStartLength  = 0x07
)

// span is a range of program counters, High exclusive.
type span = symindex.Span

// lists reads the location and range lists of one compilation unit.
type lists struct {
	dwarf5   bool
	base     uint64 // the unit's low PC
	addr     []byte // .debug_addr
	addrBase uint64 // where the unit's part of it starts
	loc      []byte // .debug_loclists or .debug_loc
	rng      []byte // .debug_rnglists or .debug_ranges
}

func (l *lists) addrx(i uint64) uint64 {
	if i > uint64(len(l.addr))/8 {
		return 0
	}
	off := l.addrBase + i*8
	if off < l.addrBase || off > uint64(len(l.addr)) {
		return 0
	}
	c := cursor{b: l.addr[off:]}
	return c.u64()
}

func cursorAt(b []byte, off int64) cursor {
	if off < 0 || off > int64(len(b)) {
		return cursor{bad: true}
	}
	return cursor{b: b[off:]}
}

// locations calls visit for each entry of the location list at an offset.
func (l *lists) locations(off int64, visit func(low, high uint64, expr []byte)) {
	c := cursorAt(l.loc, off)
	if !l.dwarf5 {
		l.pairs(&c, func(low, high uint64) {
			n := int(c.u16())
			visit(low, high, c.take(n))
		})
		return
	}
	base := l.base
	for !c.bad && len(c.b) > 0 {
		var low, high uint64
		switch c.u8() {
		case lleEndOfList:
			return
		case lleBaseAddressx:
			base = l.addrx(c.uleb())
			continue
		case lleBaseAddress:
			base = c.u64()
			continue
		case lleStartxEndx:
			low, high = l.addrx(c.uleb()), l.addrx(c.uleb())
		case lleStartxLength:
			low = l.addrx(c.uleb())
			high = low + c.uleb()
		case lleOffsetPair:
			low, high = base+c.uleb(), base+c.uleb()
		case lleDefaultLocation:
			low, high = 0, 0
		case lleStartEnd:
			low, high = c.u64(), c.u64()
		case lleStartLength:
			low = c.u64()
			high = low + c.uleb()
		default:
			return
		}
		n := c.uleb()
		if c.bad || n > uint64(len(c.b)) {
			return
		}
		visit(low, high, c.take(int(n)))
	}
}

// ranges returns the range list at an offset.
func (l *lists) ranges(off int64) []span {
	var out []span
	add := func(low, high uint64) {
		if low < high {
			out = append(out, span{Low: low, High: high})
		}
	}
	c := cursorAt(l.rng, off)
	if !l.dwarf5 {
		l.pairs(&c, add)
		return out
	}
	base := l.base
	for !c.bad && len(c.b) > 0 {
		switch c.u8() {
		case rleEndOfList:
			return out
		case rleBaseAddressx:
			base = l.addrx(c.uleb())
		case rleBaseAddress:
			base = c.u64()
		case rleStartxEndx:
			add(l.addrx(c.uleb()), l.addrx(c.uleb()))
		case rleStartxLength:
			low := l.addrx(c.uleb())
			add(low, low+c.uleb())
		case rleOffsetPair:
			add(base+c.uleb(), base+c.uleb())
		case rleStartEnd:
			add(c.u64(), c.u64())
		case rleStartLength:
			low := c.u64()
			add(low, low+c.uleb())
		default:
			return out
		}
	}
	return out
}

// pairs reads DWARF 4's lists: pairs of addresses relative to the base, ended by two zeros.
func (l *lists) pairs(c *cursor, visit func(low, high uint64)) {
	base := l.base
	for !c.bad && len(c.b) > 0 {
		low, high := c.u64(), c.u64()
		switch {
		case low == 0 && high == 0:
			return
		case low == ^uint64(0):
			base = high
		default:
			visit(base+low, base+high)
		}
	}
}
