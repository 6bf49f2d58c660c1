package debuginfo

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"
)

// An index file has its contents in blocks that are compressed each, because most of it is text and numbers that recur:
// together they take a third. A process needs few of them, and unpacks those when they are first asked for.
const (
	blockBits = 16
	blockSize = 1 << blockBits
)

// blocks is memory that is filled block by block. It is safe for concurrent use.
type blocks struct {
	memory []byte // outside of the Go heap, zero until it is filled
	packed []byte
	ends   []byte // where the packed blocks begin and end, 4 bytes each
	filled []atomic.Bool
	mu     sync.Mutex
}

// need sees to it that the memory from off on has its contents.
func (b *blocks) need(off, n int) {
	for i := off >> blockBits; i <= (off+n-1)>>blockBits && i < len(b.filled); i++ {
		if !b.filled[i].Load() {
			b.fill(i)
		}
	}
}

// fill unpacks a block. One that is damaged, though the file's checksum is right, stays zero from there on.
//
//go:noinline // see packNumbers
func (b *blocks) fill(i int) {
	b.mu.Lock()
	if !b.filled[i].Load() {
		low, high := u32(b.ends, 4*i), u32(b.ends, 4*i+4)
		if low <= high && uint64(high) <= uint64(len(b.packed)) {
			unpackBlock(b.memory[i<<blockBits:min((i+1)<<blockBits, len(b.memory))], b.packed[low:high])
		}
		b.filled[i].Store(true)
	}
	b.mu.Unlock()
}

// A packed block is a row of sequences, as in LZ4's block format: a byte with the number of literals in its upper
// half and the length of a copy less 4 in its lower one; 15 means that more bytes follow to be added, up to one that is not 255. Then come the
// literals, two bytes that say how far back the copy begins, and what follows of its length. The last
// sequence has literals only.
const (
	minCopy  = 4
	hashBits = 13
	longForm = 15
)

// packBlock appends the packed form of at most blockSize bytes.
func packBlock(out, src []byte) []byte {
	var last [1 << hashBits]uint16 // where four bytes with that hash were last
	done := 0                      // what is before it has been packed
	for i := 1; i+minCopy <= len(src); {
		word := binary.LittleEndian.Uint32(src[i:])
		h := word * 2654435761 >> (32 - hashBits) // the golden ratio: Knuth's multiplicative hash
		from := int(last[h])
		last[h] = uint16(i)
		if from >= i || binary.LittleEndian.Uint32(src[from:]) != word {
			i += 1 + (i-done)>>6 // what does not repeat is passed over ever faster
			continue
		}
		n := minCopy
		for i+n+8 <= len(src) {
			if x := binary.LittleEndian.Uint64(src[i+n:]) ^ binary.LittleEndian.Uint64(src[from+n:]); x != 0 {
				n += bits.TrailingZeros64(x) / 8
				break
			}
			n += 8
		}
		out = packSequence(out, src[done:i], i-from, n)
		i += n
		done = i
	}
	return packSequence(out, src[done:], 0, 0)
}

// packSequence appends literals and a copy; the last sequence has none, which back 0 says.
//
//go:noinline // see packNumbers
func packSequence(out, literals []byte, back, n int) []byte {
	more := max(n-minCopy, 0)
	out = append(out, byte(min(len(literals), longForm)<<4|min(more, longForm)))
	out = append(packLength(out, len(literals)), literals...)
	if back == 0 {
		return out
	}
	return packLength(append(out, byte(back), byte(back>>8)), more)
}

// packLength appends what a length has beyond what its half byte says.
//
//go:noinline // see packNumbers
func packLength(out []byte, n int) []byte {
	if n < longForm {
		return out
	}
	for n -= longForm; n >= 255; n -= 255 {
		out = append(out, 255)
	}
	return append(out, byte(n))
}

// unpackBlock fills dst with what src stands for; false if that is not what src holds.
func unpackBlock(dst, src []byte) bool {
	at := 0
	for len(src) > 0 {
		literals, more := int(src[0]>>4), int(src[0]&15)
		src = src[1:]
		if literals, src = unpackLength(literals, src); literals > len(src) || literals > len(dst)-at {
			return false
		}
		copy(dst[at:], src[:literals])
		at += literals
		if src = src[literals:]; len(src) == 0 {
			break
		}
		if len(src) < 2 {
			return false
		}
		back := int(src[0]) | int(src[1])<<8
		more, src = unpackLength(more, src[2:])
		n := more + minCopy
		if back == 0 || back > at || n > len(dst)-at {
			return false
		}
		for n > 0 { // a copy may reach into what it writes
			part := copy(dst[at:at+n], dst[at-back:at])
			at += part
			n -= part
		}
	}
	return at == len(dst)
}

// unpackLength adds the bytes that follow a half byte of 15. A length that does not end is more than any block has.
//
//go:noinline // see packNumbers
func unpackLength(n int, src []byte) (int, []byte) {
	if n < longForm {
		return n, src
	}
	for i, b := range src {
		n += int(b)
		if b != 255 {
			return n, src[i+1:]
		}
	}
	return blockSize + 1, nil
}
