// Package imagetest records an image of a small frozen Go process for tests to damage. The process
// runs testdata/subject, which holds one of each structure that the runtime model reads.
//
// An Image is memory only, which the readers of package image read. The tests find the addresses of
// structures by themselves, or by a Bench.
package imagetest

import (
	"encoding/binary"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// Image is the memory of a frozen process, as an image.Source that can be damaged and mended again.
// It is not safe for concurrent use.
type Image struct {
	// G, PC and SP are those of the goroutine that froze the process.
	G, PC, SP uint64

	// Copies and Bytes count the calls of Copy and the bytes that it returned since the last Mend.
	Copies int
	Bytes  uint64

	regions []region
	journal []change
	holes   []image.Range
}

type region struct {
	addr uint64
	data []byte
}

// change is the memory at an address before it was damaged.
type change struct {
	addr uint64
	old  []byte
}

const page = 4 << 10

// parse reads the output of testdata/subject.
func parse(b []byte) (*Image, error) {
	next := func() uint64 {
		if len(b) < 8 {
			b = nil
			return 0
		}
		w := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return w
	}
	im := &Image{G: next(), PC: next(), SP: next()}
	for len(b) > 0 {
		r := region{addr: next()}
		n := next()
		if n == 0 || n > 1<<32 {
			return nil, fmt.Errorf("a region of %d bytes at %#x", n, r.addr)
		}
		r.data = make([]byte, n)
		for at := next(); at != 0; at = next() {
			if len(b) < page || at < r.addr || at+page > r.addr+n {
				return nil, fmt.Errorf("the page at %#x is not in the region at %#x", at, r.addr)
			}
			copy(r.data[at-r.addr:], b[:page])
			b = b[page:]
		}
		im.regions = append(im.regions, r)
	}
	return im, nil
}

// Copy implements image.Source. Slices alias the image: damage done later shows in them.
func (im *Image) Copy(ranges []image.Range) ([][]byte, error) {
	im.Copies++
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		b := im.at(r.Addr)
		if r.Len < uint64(len(b)) {
			b = b[:r.Len:r.Len]
		}
		for _, h := range im.holes {
			switch {
			case h.Addr <= r.Addr && r.Addr < h.End():
				b = nil
			case r.Addr < h.Addr && h.Addr-r.Addr < uint64(len(b)):
				b = b[:h.Addr-r.Addr]
			}
		}
		out[i] = b
		im.Bytes += uint64(len(b))
	}
	return out, nil
}

// at returns the memory from an address to the end of its region, nil if there is none.
func (im *Image) at(addr uint64) []byte {
	for _, r := range im.regions {
		if off := addr - r.addr; off < uint64(len(r.data)) {
			return r.data[off:]
		}
	}
	return nil
}

// Regions lists the readable memory.
func (im *Image) Regions() []image.Range {
	out := make([]image.Range, len(im.regions))
	for i, r := range im.regions {
		out[i] = image.Range{Addr: r.addr, Len: uint64(len(r.data))}
	}
	return out
}

// U64 returns the word at an address, 0 where there is no memory.
func (im *Image) U64(addr uint64) uint64 {
	if b := im.at(addr); len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Put overwrites memory, as far as there is any, until Mend.
func (im *Image) Put(addr uint64, b []byte) {
	to := im.at(addr)
	if len(b) > len(to) {
		b = b[:len(to)]
	}
	im.journal = append(im.journal, change{addr, append([]byte(nil), to[:len(b)]...)})
	copy(to, b)
}

// PutU64 overwrites a word.
func (im *Image) PutU64(addr, v uint64) { im.Put(addr, binary.LittleEndian.AppendUint64(nil, v)) }

// PutU32 overwrites half a word.
func (im *Image) PutU32(addr uint64, v uint32) {
	im.Put(addr, binary.LittleEndian.AppendUint32(nil, v))
}

// Unmap makes memory unreadable until Mend.
func (im *Image) Unmap(r image.Range) { im.holes = append(im.holes, r) }

// Mend undoes all damage and sets the counts to zero.
func (im *Image) Mend() {
	for i := len(im.journal) - 1; i >= 0; i-- {
		c := im.journal[i]
		copy(im.at(c.addr), c.old)
	}
	im.journal, im.holes, im.Copies, im.Bytes = nil, nil, 0, 0
}
