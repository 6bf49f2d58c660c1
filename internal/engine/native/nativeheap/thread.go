package nativeheap

import (
	"encoding/binary"
	"runtime"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

const (
	maxThreads = 1 << 16
	// how far from a thread's struct the C library's thread-local variables may be
	nearTLS, farTLS = 16 << 10, 256 << 10
	nearArena       = 48 // and how far the variable for the tcache may be from that for the arena
)

func layoutOfThreads() threadLayout { return threadLayouts[runtime.GOARCH] }

// isNode reports whether a node of a list may be part of a struct pthread.
func (w *walk) isNode(node uint64) bool {
	l := layoutOfThreads()
	if a := w.areaOf(node); node%8 != 0 || a == nil || !a.Writable {
		return false
	}
	if thread := node - l.list; l.hasSelf {
		return w.word(thread+l.self) == thread
	}
	id := int32(w.mem.U32(node - l.list + l.id))
	return id >= 0 && id < 1<<22 // PID_MAX_LIMIT
}

// findLists returns the addresses of the heads of lists of threads. It includes empty lists beside
// others, since they may get a thread later: the loader has its lists side by side (rtld_global:
// the lists of stacks in use, of stacks of the program's and that of the first thread, and of
// stacks that are kept).
func (w *walk) findLists(base uint64, data []byte) (heads []uint64, err error) {
	word := func(at uint64) uint64 {
		if off := at - base; at >= base && off+8 <= uint64(len(data)) {
			return binary.LittleEndian.Uint64(data[off:])
		}
		return 0
	}
	// A program's own variables contain many addresses, so the memory at all of them is copied at
	// once.
	var candidates []uint64
	var nodes []image.Range
	for off := 0; off+16 <= len(data); off += 8 {
		head, node := base+uint64(off), binary.LittleEndian.Uint64(data[off:])
		if a := w.areaOf(node); node != head && node%16 == 0 && a != nil && a.Writable {
			candidates, nodes = append(candidates, head), append(nodes, image.Range{Addr: node, Len: 16})
		}
	}
	links, err := w.mem.Copy(nodes)
	if err != nil {
		return nil, err
	}
	leadsBack := make(map[uint64]bool)
	for i, head := range candidates {
		if len(links[i]) == 16 && binary.LittleEndian.Uint64(links[i][8:]) == head {
			leadsBack[head] = true
		}
	}
	is := func(head uint64) bool { return leadsBack[head] && w.isNode(word(head)) }
	isEmpty := func(head uint64) bool { return word(head) == head && word(head+8) == head }
	known := make(map[uint64]bool)
	for at := base; at+16 <= base+uint64(len(data)); at += 8 {
		if known[at] || !is(at) {
			continue
		}
		for _, head := range []uint64{at - 32, at - 16, at, at + 16, at + 32} {
			if !known[head] && (is(head) || isEmpty(head)) {
				known[head] = true
				heads = append(heads, head)
			}
		}
	}
	return heads, nil
}

// readThreads follows the lists of threads, of which at least live are alive.
func (w *walk) readThreads(live int) error {
	l := layoutOfThreads()
	alive := 0
	for _, head := range w.places.lists {
		before := head
		for node := w.word(head); node != head; node = w.word(node) {
			if len(w.threads) == maxThreads || !w.isNode(node) || w.word(node+8) != before {
				return flux("a list of threads leads elsewhere")
			}
			w.threads = append(w.threads, node-l.list)
			if w.mem.U32(node-l.list+l.id) != 0 {
				alive++
			}
			before = node
		}
		if w.word(head+8) != before {
			return flux("a list of threads does not end with its last")
		}
		w.seen = append(w.seen, image.Range{Addr: head, Len: 16})
	}
	if alive < live {
		return flux("of %d threads %d are on the loader's lists", live, alive)
	}
	return nil
}

// takeOwn marks malloc's own chunks: the caches of threads, the freed blocks in them, and the
// tables of thread-local variables.
func (w *walk) takeOwn() error {
	if !w.places.knowsCache {
		if err := w.findCache(); err != nil {
			return err
		}
	}
	for _, thread := range w.threads {
		at := uint64(int64(thread) + w.places.cache)
		user := w.word(at)
		if user != 0 && w.partOf(user) != nil {
			if err := w.takeCache(user); err != nil {
				return err
			}
			w.seen = append(w.seen, image.Range{Addr: user, Len: uint64(w.sizeOf(user)) - chunkHeader})
		} else if user != 0 && !w.isInFile(user) {
			return flux("a thread's tcache is not in an arena")
		}
		w.seen = append(w.seen, image.Range{Addr: at, Len: 8})
		// The pointer is to the second entry of the table; the first is its length (elf/dl-tls.c,
		// allocate_dtv). The table of the first thread is the loader's.
		if l := layoutOfThreads(); l.hasDTV {
			w.mark(w.word(thread+l.dtv)-16-chunkHeader, 0, ofMalloc)
		}
	}
	return nil
}

// isInFile reports whether an address is in a mapped file: from 2.42 on threads that have no tcache
// yet point to a constant.
func (w *walk) isInFile(addr uint64) bool {
	a := w.areaOf(addr)
	return a != nil && len(a.Name) > 0 && a.Name[0] == '/'
}

func (w *walk) sizeOf(user uint64) int64 {
	if p := w.partOf(user - chunkHeader); p != nil {
		return p.sizeAt(user - chunkHeader)
	}
	return 0
}

// layoutOf returns the layout of a tcache at an address, nil if there can be none.
func (w *walk) layoutOf(user uint64) *cacheLayout {
	p := w.partOf(user - chunkHeader)
	if p == nil || p.stateAt(user-chunkHeader) != inUse {
		return nil
	}
	for i := range cacheLayouts {
		// a rest of a free chunk that is too small for a chunk belongs to the chunk that is taken
		// from it
		if size := p.sizeAt(user - chunkHeader); size == cacheLayouts[i].chunk || size == cacheLayouts[i].chunk+chunkAlign {
			return &cacheLayouts[i]
		}
	}
	return nil
}

// takeCache marks a tcache and the blocks in it.
func (w *walk) takeCache(user uint64) error {
	l := w.layoutOf(user)
	if l == nil || !w.mark(user-chunkHeader, 0, ofMalloc) {
		return flux("a thread's tcache is none")
	}
	entries := user + uint64(l.bins)*l.countSize
	for i := range l.bins {
		n := w.countIn(l, user, i)
		if n < 0 {
			return flux("a tcache has room for more than it may")
		}
		size := int64(0)
		if i < l.small {
			size = minChunk + 16*int64(i)
		}
		for at := w.word(entries + 8*uint64(i)); at != 0; at = w.reveal(at) {
			if n--; n < 0 || at%chunkAlign != 0 || !w.mark(at-chunkHeader, size, cached) {
				return flux("a tcache has what is not a block of its size in use")
			}
		}
		if n != 0 {
			return flux("a tcache counts more than it has")
		}
	}
	return nil
}

// countIn is the number of blocks in a bin by the tcache's own count.
func (w *walk) countIn(l *cacheLayout, user uint64, bin int) int {
	if l.countSize == 1 {
		return int(w.mem.U8(user + uint64(bin)))
	}
	n := int(w.mem.U16(user + 2*uint64(bin)))
	if l.countsSlots {
		return int(w.word(w.places.params+cacheCount)) - n
	}
	return n
}

// findCache finds the thread-local variable that points to the tcache. The variables of malloc lie
// side by side (malloc/arena.c, thread_arena; malloc.c, tcache): one points to an arena, whose
// address nothing else has, and within 24 bytes, 48 from 2.43 on, another points to a block of a
// tcache's size. It has the same offset in each thread.
func (w *walk) findCache() error {
	votes := make(map[int64]int)
	for _, reach := range []uint64{nearTLS, farTLS} {
		for _, thread := range w.threads {
			w.voteCache(thread, reach, votes)
		}
		if len(votes) > 0 {
			break
		}
	}
	best, second := int64(0), 0
	for offset, n := range votes {
		if n > votes[best] || n == votes[best] && offset > best {
			best = offset
		}
	}
	for offset, n := range votes {
		if offset != best {
			second = max(second, n)
		}
	}
	if votes[best] <= second {
		return flux("where threads have their tcaches cannot be told")
	}
	if !w.canTake(best) {
		return flux("the tcaches of threads cannot be read")
	}
	w.places.cache, w.places.knowsCache = best, true
	return nil
}

// voteCache adds a vote for each offset at which a thread may have the pointer to its tcache.
func (w *walk) voteCache(thread, reach uint64, votes map[int64]int) {
	area := w.areaOf(thread)
	if area == nil {
		return
	}
	from, to := thread, min(thread+reach, area.End)
	if layoutOfThreads().below {
		from, to = max(area.Start, thread-min(thread, reach)), thread
	}
	isArena := make(map[uint64]bool, len(w.arenas))
	for _, a := range w.arenas {
		isArena[a.addr] = true
	}
	data := w.mem.Bytes(from, to-from)
	at := func(off int) uint64 {
		if off < 0 || off+8 > len(data) {
			return 0
		}
		return binary.LittleEndian.Uint64(data[off:])
	}
	voted := make(map[int64]bool)
	for off := 0; off+8 <= len(data); off += 8 {
		if !isArena[at(off)] {
			continue
		}
		for d := -nearArena; d <= nearArena; d += 8 {
			offset := int64(from) + int64(off+d) - int64(thread)
			if w.layoutOf(at(off+d)) != nil && !voted[offset] {
				voted[offset] = true
				votes[offset]++
			}
		}
	}
}

// canTake reports whether the tcaches of all threads can be read by the pointers at an offset. It
// leaves the states of chunks as they were.
func (w *walk) canTake(offset int64) bool {
	before := make([][]chunkState, len(w.parts))
	for i, p := range w.parts {
		before[i] = append([]chunkState(nil), p.state...)
	}
	ok := true
	for _, thread := range w.threads {
		user := w.word(uint64(int64(thread) + offset))
		if user != 0 && !w.isInFile(user) && w.takeCache(user) != nil {
			ok = false
			break
		}
	}
	for i, p := range w.parts {
		p.state = before[i]
	}
	return ok
}
