package nativeholders

import (
	"encoding/binary"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// blockAt returns the number of the block that an address lies in, -1 if there is none.
func (f *finder) blockAt(addr uint64) int {
	all := f.native.Blocks
	if len(all) == 0 || addr < all[0].Addr || addr >= all[len(all)-1].End() {
		return -1 // as for most words
	}
	i := sort.Search(len(all), func(i int) bool { return all[i].Addr > addr }) - 1
	if i < 0 || addr >= all[i].End() {
		return -1
	}
	return i
}

// refer takes a word for a reference. If it leads to a block without an owner, who returns the
// owner; 0: none.
func (f *finder) refer(word uint64, who func() int32) {
	if i := f.blockAt(word); i >= 0 && f.owner[i] == 0 {
		f.own(i, who())
	}
}

func (f *finder) own(block int, owner int32) {
	if f.owner[block] = owner; owner == 0 {
		return
	}
	f.queue = append(f.queue, uint32(block))
	if f.cut != nil && f.cut.after {
		f.cut.sum.add(f.native.Blocks[block])
	}
}

// words takes all words of memory for references. who returns the owner of the block that a word
// leads to, given the address of the word, and whether it leads to the beginning of the block; 0:
// the word is no reference.
func (f *finder) words(mem []byte, addr uint64, who func(at uint64, atStart bool) int32) {
	for off := -addr & 7; off+8 <= uint64(len(mem)); off += 8 {
		word := binary.LittleEndian.Uint64(mem[off:])
		if i := f.blockAt(word); i >= 0 && f.owner[i] == 0 {
			f.own(i, who(addr+off, word == f.native.Blocks[i].Addr))
		}
	}
}

// spread gives the owner of each block to the blocks that it leads to.
func (f *finder) spread() error {
	for len(f.queue) > 0 {
		level := f.queue
		f.queue = nil
		var mapped []uint32 // blocks whose memory is not copied yet
		for _, i := range level {
			b := f.native.Blocks[i]
			mem := f.native.Bytes(b)
			if mem == nil {
				mapped = append(mapped, i)
				continue
			}
			f.words(mem, b.Addr, func(uint64, bool) int32 { return f.owner[i] })
		}
		ranges := make([]image.Range, len(mapped))
		for k, i := range mapped {
			b := f.native.Blocks[i]
			ranges[k] = image.Range{Addr: b.Addr, Len: b.End() - b.Addr}
		}
		err := f.read(ranges, func(k int, mem []byte) {
			f.words(mem, ranges[k].Addr, func(uint64, bool) int32 { return f.owner[mapped[k]] })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// read calls visit with the memory of ranges, up to most bytes. The rest counts as unread.
func (f *finder) read(ranges []image.Range, visit func(i int, mem []byte)) error {
	total, n := uint64(0), 0
	for ; n < len(ranges) && total+ranges[n].Len <= maxRead; n++ {
		total += ranges[n].Len
	}
	for _, r := range ranges[n:] {
		f.unread += r.Len
	}
	if n == 0 {
		return nil
	}
	data, err := f.mem.Copy(ranges[:n])
	if err != nil {
		return err
	}
	for i, mem := range data {
		f.unread += ranges[i].Len - uint64(len(mem))
		visit(i, mem)
	}
	return nil
}
