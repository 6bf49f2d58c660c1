package nativeheap

import (
	"encoding/binary"
	"sort"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// A Block is a block that the program has from malloc.
type Block struct {
	Addr uint64 // that malloc returned
	Size int64  // of the chunk, with its header of 16 bytes

	mapped bool
}

// Mapped reports whether the block is a mapping of its own.
func (b Block) Mapped() bool { return b.mapped }

// End returns the first address behind the block. Unless the block is a mapping, it includes the
// first word of the chunk behind it.
func (b Block) End() uint64 {
	end := b.Addr + uint64(b.Size) - chunkHeader
	if !b.mapped {
		end += chunkSize
	}
	return end
}

// Contents are the blocks of a heap, and what tells malloc's memory from other memory.
type Contents struct {
	Areas  []Area
	Blocks []Block // in use, by address
	// blocks that malloc and the loader have allocated for each thread; some of the loader's lead
	// to thread-local variables
	Own     []Block
	Parts   []image.Range // memory of all arenas, and main_arena itself
	Threads []Thread
	// number of blocks that are mappings of their own and could not be told from other memory
	Hidden int64

	parts []*part
}

// A Thread is a thread that the C library knows.
type Thread struct {
	Addr  uint64 // of its struct pthread, which is at the end of its stack
	Ended bool   // the thread has ended; its stack is kept for another thread
}

// Bytes returns the memory of a block, nil if the block is a mapping.
func (c *Contents) Bytes(b Block) []byte {
	w := walk{parts: c.parts}
	p := w.partOf(b.Addr)
	if p == nil {
		return nil
	}
	return p.data[b.Addr-p.start : b.End()-p.start]
}

func (w *walk) contents() *Contents {
	w.list()
	c := &Contents{Areas: w.areas, Blocks: w.blocks, parts: w.parts, Hidden: w.heap.Mapped}
	// The bins of main_arena lead to the headers of chunks, of which the block before may use a
	// word.
	c.Parts = append(c.Parts, image.Range{Addr: w.places.main, Len: w.places.head + stateEnd})
	for _, p := range w.parts {
		c.Parts = append(c.Parts, image.Range{Addr: p.start, Len: p.end - p.start})
		p.eachUsed(func(at uint64, size int64, state chunkState) {
			if state == ofMalloc {
				c.Own = append(c.Own, Block{Addr: at + chunkHeader, Size: size})
			}
		})
	}
	for _, t := range w.threads {
		c.Threads = append(c.Threads, Thread{t, w.mem.U32(t+layoutOfThreads().id) == 0})
	}
	for _, b := range c.Blocks {
		if b.mapped {
			c.Hidden--
		}
	}
	return c
}

// list lists the blocks in use by address. It includes mapped blocks if all of them are found.
func (w *walk) list() {
	w.blocks = make([]Block, 0, w.heap.Blocks)
	for _, p := range w.parts {
		p.eachUsed(func(at uint64, size int64, state chunkState) {
			if state == inUse {
				w.blocks = append(w.blocks, Block{Addr: at + chunkHeader, Size: size})
			}
		})
	}
	w.blocks = append(w.blocks, w.mapped()...)
	sort.Slice(w.blocks, func(i, j int) bool { return w.blocks[i].Addr < w.blocks[j].Addr })
}

// mapped returns the blocks that are mappings of their own; nil unless their number and bytes are
// those that malloc counts. Such a chunk is whole pages. It begins with its distance from the start
// of the mapping, 0 except for aligned blocks, and its size with a flag.
func (w *walk) mapped() (found []Block) {
	if w.heap.Mapped == 0 {
		return nil
	}
	const page = 4096
	const maxPages = 1 << 20 // 4 GiB, at about a second
	var starts []image.Range
	var ends []uint64 // of their areas
	for _, a := range w.areas {
		if a.Writable && a.Name == "" && a.End-a.Start <= maxHeap {
			for at := a.Start; at < a.End && len(starts) < maxPages; at += page {
				starts, ends = append(starts, image.Range{Addr: at, Len: chunkHeader}), append(ends, a.End)
			}
		}
	}
	heads, err := w.mem.Copy(starts)
	if err != nil {
		return nil
	}
	bytes, behind := int64(0), uint64(0)
	for i, head := range heads {
		at := starts[i].Addr
		if at < behind || len(head) < chunkHeader || w.partOf(at) != nil {
			continue
		}
		size := binary.LittleEndian.Uint64(head[chunkSize:])
		if size&sizeFlags != isMapped || binary.LittleEndian.Uint64(head) != 0 {
			continue
		}
		if size &^= sizeFlags; size == 0 || size%page != 0 || size > ends[i]-at {
			continue
		}
		found = append(found, Block{at + chunkHeader, int64(size), true})
		bytes += int64(size)
		behind = at + size
	}
	if int64(len(found)) != w.heap.Mapped || bytes != w.heap.MappedBytes {
		return nil
	}
	return found
}
