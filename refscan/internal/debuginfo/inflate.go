package debuginfo

import (
	"encoding/binary"
	"hash/adler32"
)

// inflate unpacks a zlib stream (RFC 1950 and 1951) of a known size into memory; false if it is damaged or of another size. The
// standard library's reader is for streams of unknown size and adds 45 kB to a stripped program (go1.26.8); this one takes a
// third of its time.
func inflate(size uint64, src []byte) ([]byte, bool) {
	const header, trailer = 2, 4
	if len(src) < header+trailer || src[0]&0xf != 8 || src[1]&0x20 != 0 || binary.BigEndian.Uint16(src)%31 != 0 || size > 1<<40 {
		return nil, false
	}
	// Memory grows past what is likely only as data comes, so that a damaged size does not take all of it.
	const likely = 64
	f := inflater{src: src[header:], out: make([]byte, 0, min(size, likely*uint64(len(src)))), limit: int(size)}
	for last := false; !last; {
		last = f.bits(1) == 1
		switch kind := f.bits(2); {
		case kind == 0:
			f.stored()
		case kind == 1:
			f.fixed()
		case kind == 2:
			f.dynamic()
		default:
			f.bad = true
		}
		if f.bad {
			return nil, false
		}
	}
	f.toByte()
	rest := f.src[f.at:]
	if len(rest) < trailer || len(f.out) != f.limit || binary.BigEndian.Uint32(rest) != adler32.Checksum(f.out) {
		return nil, false
	}
	return f.out, true
}

// inflater is the state of unpacking one stream.
type inflater struct {
	src   []byte
	at    int // in src
	out   []byte
	limit int    // of len(out)
	hold  uint64 // bits taken from src and not used yet, the next one lowest
	count uint   // how many
	bad   bool

	literals, distances huffman
}

// fill brings the bits at hand up to at least 32, as long as there is input. Behind the end are zeros.
func (f *inflater) fill() {
	if f.count >= 32 {
		return
	}
	if len(f.src)-f.at >= 4 {
		f.hold |= uint64(binary.LittleEndian.Uint32(f.src[f.at:])) << f.count
		f.at += 4
		f.count += 32
		return
	}
	for ; f.at < len(f.src); f.at++ {
		f.hold |= uint64(f.src[f.at]) << f.count
		f.count += 8
	}
}

// bits takes n bits, at most 16.
func (f *inflater) bits(n uint) uint {
	f.fill()
	v := uint(f.hold & (1<<n - 1))
	f.drop(n)
	return v
}

func (f *inflater) drop(n uint) {
	if n > f.count {
		f.bad = true
		n = f.count
	}
	f.hold >>= n
	f.count -= n
}

// toByte drops the rest of a byte and gives whole bytes back to the input.
func (f *inflater) toByte() {
	f.drop(f.count % 8)
	f.at -= int(f.count / 8)
	f.hold, f.count = 0, 0
}

// stored copies a block that is not compressed.
func (f *inflater) stored() {
	f.toByte()
	b := f.src[f.at:]
	if len(b) < 4 {
		f.bad = true
		return
	}
	n := int(binary.LittleEndian.Uint16(b))
	if binary.LittleEndian.Uint16(b[2:]) != ^uint16(n) || n > len(b)-4 || n > f.limit-len(f.out) {
		f.bad = true
		return
	}
	f.out = append(f.out, b[4:4+n]...)
	f.at += 4 + n
}

// fixed unpacks a block with the codes that the format defines.
func (f *inflater) fixed() {
	var lengths [288 + 30]uint8
	for i := range lengths {
		switch {
		case i < 144, i >= 280 && i < 288:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 5
		}
	}
	f.coded(lengths[:288], lengths[288:])
}

// dynamic unpacks a block that begins with its codes.
func (f *inflater) dynamic() {
	const order = "\x10\x11\x12\x00\x08\x07\x09\x06\x0a\x05\x0b\x04\x0c\x03\x0d\x02\x0e\x01\x0f"
	literals, distances, codes := int(f.bits(5))+257, int(f.bits(5))+1, int(f.bits(4))+4
	var lengths [286 + 30]uint8
	for i := range codes {
		lengths[order[i]] = uint8(f.bits(3))
	}
	if literals > 286 || distances > 30 || !f.literals.build(lengths[:19]) {
		f.bad = true
		return
	}
	all := lengths[:literals+distances]
	for i := 0; i < len(all) && !f.bad; {
		sym := f.symbol(&f.literals)
		value, n := uint8(0), 1
		switch {
		case sym < 16:
			value = uint8(sym)
		case sym == 16 && i > 0:
			value, n = all[i-1], 3+int(f.bits(2))
		case sym == 17:
			n = 3 + int(f.bits(3))
		case sym == 18:
			n = 11 + int(f.bits(7))
		default:
			f.bad = true
		}
		if n > len(all)-i {
			f.bad = true
			return
		}
		for range n {
			all[i] = value
			i++
		}
	}
	f.coded(all[:literals], all[literals:])
}

// coded unpacks a block's symbols: bytes, and copies of what went before.
func (f *inflater) coded(literals, distances []uint8) {
	if f.bad || !f.literals.build(literals) || !f.distances.build(distances) {
		f.bad = true
		return
	}
	for !f.bad {
		sym := f.symbol(&f.literals)
		switch {
		case sym < 256:
			if len(f.out) == f.limit {
				f.bad = true
				return
			}
			f.out = append(f.out, byte(sym))
			continue
		case sym == 256:
			return
		case sym > 285:
			f.bad = true
			return
		}
		// Lengths and distances come in groups, each with one bit more than the group before (RFC 1951, section 3.2.5).
		n := sym - 254
		if sym == 285 {
			n = 258
		} else if group := (sym - 257) / 4; group > 1 {
			extra := group - 1
			n = (4+(sym-257)%4)<<extra + 3 + int(f.bits(uint(extra)))
		}
		d := f.symbol(&f.distances)
		back := d + 1
		if extra := d/2 - 1; extra > 0 {
			back = (2+d%2)<<extra + 1 + int(f.bits(uint(extra)))
		}
		at := len(f.out) - back
		if d > 29 || at < 0 || n > f.limit-len(f.out) {
			f.bad = true
			return
		}
		for n > 0 { // a copy may reach into what it writes
			chunk := min(n, len(f.out)-at)
			f.out = append(f.out, f.out[at:at+chunk]...)
			n -= chunk
		}
	}
}

// huffman decodes symbols. Codes of up to quickBits bits are looked up, longer ones are counted out.
type huffman struct {
	quick   [1 << quickBits]uint16 // by the next bits: symbol<<4 | length, 0 if the code is longer
	count   [16]uint16             // codes of each length
	symbols [288]uint16            // in the order of the codes
}

const quickBits = 10

// build makes the code with the given lengths; false if there are more codes than lengths allow.
func (h *huffman) build(lengths []uint8) bool {
	*h = huffman{}
	for _, n := range lengths {
		h.count[n]++
	}
	h.count[0] = 0
	var next, at [16]uint16 // code and place of the next symbol of each length
	for n := 1; n < 16; n++ {
		next[n] = (next[n-1] + h.count[n-1]) << 1
		at[n] = at[n-1] + h.count[n-1]
		if int(next[n])+int(h.count[n]) > 1<<n {
			return false
		}
	}
	for sym, n := range lengths {
		if n == 0 {
			continue
		}
		h.symbols[at[n]] = uint16(sym)
		at[n]++
		code := next[n]
		next[n]++
		if n > quickBits {
			continue
		}
		step := 1 << n
		for i := reversed(code, n); i < len(h.quick); i += step {
			h.quick[i] = uint16(sym)<<4 | uint16(n)
		}
	}
	return true
}

// reversed turns a code's bits round: codes are packed from their highest bit on.
func reversed(code uint16, n uint8) int {
	r := 0
	for range n {
		r = r<<1 | int(code&1)
		code >>= 1
	}
	return r
}

// symbol takes one symbol.
func (f *inflater) symbol(h *huffman) int {
	f.fill()
	if q := h.quick[f.hold&(1<<quickBits-1)]; q != 0 {
		f.drop(uint(q & 15))
		return int(q >> 4)
	}
	code, first, index := 0, 0, 0
	for n := uint(1); n < 16; n++ {
		code |= int(f.hold>>(n-1)) & 1
		count := int(h.count[n])
		if code-first < count {
			f.drop(n)
			return int(h.symbols[index+code-first])
		}
		index += count
		first = (first + count) << 1
		code <<= 1
	}
	f.bad = true
	return 0
}
