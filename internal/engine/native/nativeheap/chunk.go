package nativeheap

import (
	"encoding/binary"
	"sort"
)

// A chunkState is the state of the chunk that begins at an address.
type chunkState uint8

const (
	noChunk  chunkState = iota
	freed               // on a bin
	inUse               // by the program
	cached              // freed, and in a thread's tcache
	fast                // freed, and on a fast bin
	ofMalloc            // allocated for a thread by malloc or the loader
)

// walkParts walks all chunks.
func (w *walk) walkParts() error {
	for _, p := range w.parts {
		if err := p.walk(p.of.addr == w.places.main); err != nil {
			return err
		}
	}
	return nil
}

// at reads a word of the part, zero behind its end.
func (p *part) at(addr uint64) uint64 {
	off := addr - p.start
	if off+8 > uint64(len(p.data)) || off+8 < off {
		return 0
	}
	return binary.LittleEndian.Uint64(p.data[off:])
}

// walk records the state of each chunk of the part.
func (p *part) walk(isMain bool) error {
	end := p.start + uint64(len(p.data))
	p.state = make([]chunkState, (end-p.first)/chunkAlign+1)
	for at := p.first; at != p.last; {
		head := p.at(at + chunkSize)
		size := head &^ sizeFlags
		if p.last == 0 && p.isFence(at) {
			p.headers += int64(p.end - at)
			return nil
		}
		next := at + size
		if size < minChunk || size%chunkAlign != 0 || next < at || next+fence > end {
			return flux("a chunk of %d bytes", size)
		}
		if p.last != 0 && next > p.last {
			return flux("a chunk reaches beyond the top")
		}
		switch {
		case p.at(next+chunkSize)&prevInUse == 0:
			if p.at(next) != size {
				return flux("a free chunk has two sizes")
			}
			p.state[(at-p.first)/chunkAlign] = freed
			p.free++
		case head&isMapped != 0, (head&isNotMain == 0) != isMain:
			return flux("a chunk that is of another arena")
		default:
			p.state[(at-p.first)/chunkAlign] = inUse
		}
		at = next
	}
	if p.at(p.last+chunkSize)&prevInUse == 0 {
		return flux("a free chunk before the top")
	}
	if top := p.at(p.last+chunkSize) &^ sizeFlags; p.last+top > p.end || !isMain && p.last+top != p.end {
		return flux("the top has another size than is left")
	}
	return nil
}

// isFence reports whether a part that others follow ends here: with a chunk of 16 bytes, or a chunk
// of 32 bytes that was too small to be freed, and a chunk of size 0 (arena.c and malloc.c,
// sysmalloc).
func (p *part) isFence(at uint64) bool {
	size := p.at(at+chunkSize) &^ sizeFlags
	return (size == fence || size == 2*fence) && at+size+fence == p.end && p.at(at+size+chunkSize)&^sizeFlags == 0
}

// partOf returns the part that has an address, nil if there is none.
func (w *walk) partOf(addr uint64) *part {
	i := sort.Search(len(w.parts), func(i int) bool { return w.parts[i].start > addr }) - 1
	if i < 0 || addr >= w.parts[i].end {
		return nil
	}
	return w.parts[i]
}

// stateAt returns the state of the chunk at an address, noChunk if none begins there.
func (p *part) stateAt(addr uint64) chunkState {
	i := (addr - p.first) / chunkAlign
	if addr < p.first || addr%chunkAlign != p.first%chunkAlign || i >= uint64(len(p.state)) {
		return noChunk
	}
	return p.state[i]
}

// mark gives a chunk in use another state. It reports whether there is such a chunk, of the size;
// 0 is any size.
func (w *walk) mark(at uint64, size int64, state chunkState) bool {
	p := w.partOf(at)
	if p == nil || p.stateAt(at) != inUse || size != 0 && p.sizeAt(at) != size {
		return false
	}
	p.state[(at-p.first)/chunkAlign] = state
	return true
}

func (p *part) sizeAt(addr uint64) int64 { return int64(p.at(addr+chunkSize) &^ sizeFlags) }

// eachUsed calls f for each chunk that is not on a bin.
func (p *part) eachUsed(f func(at uint64, size int64, state chunkState)) {
	for i, s := range p.state {
		if s > freed {
			at := p.first + uint64(i)*chunkAlign
			f(at, p.sizeAt(at), s)
		}
	}
}
