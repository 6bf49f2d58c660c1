package liveread

import (
	"errors"
	"math/bits"
	"runtime"
	"slices"
	"sort"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A record is the data that a watch keeps of a span: its old objects, and the numbers of entries
// of those that are maps.
type record struct {
	base           uintptr // 0: there was no span
	size           uintptr
	elems          uint32
	class          uint8
	bits, counters int // first index in the lists of bits and counters; counters is -1 if there are no maps
}

// A Watch records what existed when it began. It is for one goroutine at a time, and its memory
// lies outside of the heap.
type Watch struct {
	layout     *Layout
	records    []record
	old        []uint64
	counters   []uint32
	goroutines []uint64       // by place in the runtime's list; 0 for none
	depths     []uint64       // bytes that their stacks have in use
	timers     []uint64       // addresses, sorted
	spare      []uint64       // addresses of the runtime's own objects, sorted; of the last count
	filled     uintptr        // a block that FillTiny has filled
	died       [classes]int64 // old objects that have died, by class of spans
	cycle      uint32         // of the last collection that old reflects
	missed     bool
	lists      [][]uint32
}

// room returns memory outside of the heap for n values of a size in bytes, without pointers.
func (w *Watch) room(n int, size uintptr) unsafe.Pointer {
	list := offheap.Make((n*int(size) + 3) / 4)
	w.lists = append(w.lists, list)
	return unsafe.Pointer(unsafe.SliceData(list))
}

// numbers returns memory outside of the heap for n numbers.
func (w *Watch) numbers(n int) []uint64 { return unsafe.Slice((*uint64)(w.room(n, 8)), n) }

// maxTries bounds how often spans are read again because a collection ended meanwhile.
const maxTries = 3

// New makes a watch with room for the data of what exists now and some more. Begin starts it, and
// makes no allocation that stays. New panics if memory is refused.
func New(l *Layout) *Watch {
	w := &Watch{layout: l, lists: make([][]uint32, 0, 7)}
	spans, words, counters := 0, 0, 0
	_ = l.spans(false, func(k int, s *span) {
		spans, words = k+1, words+s.words()
		if l.hasMaps(s) {
			counters += int(s.elems)
		}
	})
	const more = 1 << 10
	records := spans + spans/8 + more
	w.records = unsafe.Slice((*record)(w.room(records, unsafe.Sizeof(record{}))), records)
	counters += counters/8 + 8*more
	w.counters = unsafe.Slice((*uint32)(w.room(counters, 4)), counters)
	w.old = w.numbers(words + words/8 + more)
	w.goroutines, w.depths = w.numbers(l.numGoroutines()+more), w.numbers(l.numGoroutines()+more)
	w.timers = w.numbers(l.numTimers() + more)[:0]
	w.spare = w.numbers(2*l.numGoroutines() + 8*more + 2*processorHas*l.numProcessors())[:0]
	return w
}

// errFull says that there is more data than a watch has room for.
var errFull = errors.New("the heap grows while it is looked at")

// Begin records what exists, right after a collection.
func (w *Watch) Begin() error { return tryAgain(w.begin) }

// tryAgain calls f until it returns no error, a few times.
func tryAgain(f func() error) (err error) {
	for range maxTries {
		if err = f(); err == nil {
			break
		}
		runtime.Gosched()
	}
	return err
}

func (w *Watch) begin() error {
	l := w.layout
	w.cycle = l.cycle()
	clear(w.records)
	words, counters, full := 0, 0, false
	err := l.spans(true, func(k int, s *span) {
		maps := 0
		if l.hasMaps(s) {
			maps = int(s.elems)
		}
		if full = full || k >= len(w.records) || words+s.words() > len(w.old) || counters+maps > len(w.counters); full {
			return
		}
		r := &w.records[k]
		*r = record{base: s.base, size: s.size, elems: s.elems, class: s.class, bits: words, counters: -1}
		for i := range s.words() {
			w.old[words+i] = s.word(i)
		}
		if maps > 0 {
			r.counters = counters
		}
		for i := range maps {
			if w.isOld(r, i) {
				w.counters[counters+i], _ = l.mapEntries(s.base+uintptr(i)*s.size, s.size)
			}
		}
		words, counters = words+s.words(), counters+maps
	})
	if err != nil {
		return err
	}
	clear(w.old[words:])
	clear(w.goroutines)
	l.eachGoroutine(func(k int, id uint64) {
		if full = full || k >= len(w.goroutines); !full {
			w.goroutines[k], w.depths[k] = id, l.depth(k)
		}
	})
	w.timers = w.timers[:0]
	l.eachTimer(func(timer uint64) {
		if full = full || len(w.timers) == cap(w.timers); !full { // the list must not move
			w.timers = append(w.timers, timer)
		}
	})
	sort.Slice(w.timers, func(i, j int) bool { return w.timers[i] < w.timers[j] })
	switch {
	case full:
		return errFull
	case l.cycle() != w.cycle:
		return errMoved
	}
	return nil
}

// Close releases the watch's memory.
func (w *Watch) Close() {
	for _, list := range w.lists {
		offheap.Free(list)
	}
	*w = Watch{layout: w.layout}
}

func (w *Watch) isOld(r *record, i int) bool { return w.old[r.bits+i/64]>>(i%64)&1 != 0 }

// recordOf returns the record of a span, nil if the span is new.
func (w *Watch) recordOf(k int, s *span) *record {
	if k >= len(w.records) {
		return nil
	}
	r := &w.records[k]
	if r.base != s.base || r.size != s.size || r.elems != s.elems || r.class != s.class {
		return nil
	}
	return r
}

// maxSweepWait bounds, in rounds of the scheduler, the wait for the background sweeper.
const maxSweepWait = 10_000

// Collected reports whether a collection has ended that Passed has yet to take into account.
func (w *Watch) Collected() bool { return w.layout.cycle() != w.cycle }

// Passed takes a collection into account that has ended since the last call.
func (w *Watch) Passed() {
	now := w.layout.cycle()
	if now == w.cycle || w.missed {
		return
	}
	if now != w.cycle+2 {
		w.missed = true
		return
	}
	err := errMoved
	for range maxSweepWait {
		if err = w.forget(); err == nil || w.layout.cycle() != now {
			break
		}
		runtime.Gosched()
	}
	if w.cycle = now; err != nil || w.layout.cycle() != now {
		w.missed = true
	}
}

// forget removes from old the objects that the last collection did not mark.
func (w *Watch) forget() error {
	if err := w.layout.spans(true, func(int, *span) {}); err != nil {
		return err // some spans are not swept
	}
	last := -1
	err := w.layout.spans(true, func(k int, s *span) {
		for last++; last < min(k, len(w.records)); last++ {
			w.drop(&w.records[last])
		}
		if k >= len(w.records) {
			return
		}
		r := w.recordOf(k, s)
		if r == nil {
			w.drop(&w.records[k])
			return
		}
		for i := range s.words() {
			now := s.word(i)
			w.died[r.class] += int64(bits.OnesCount64(w.old[r.bits+i] &^ now))
			w.old[r.bits+i] &= now
		}
	})
	if err != nil {
		return err
	}
	for last++; last < len(w.records); last++ {
		w.drop(&w.records[last])
	}
	return nil
}

// drop forgets all objects of a span that no longer exists.
func (w *Watch) drop(r *record) {
	if r.base == 0 {
		return
	}
	objects := w.old[r.bits : r.bits+int(r.elems+63)/64]
	for _, word := range objects {
		w.died[r.class] += int64(bits.OnesCount64(word))
	}
	clear(objects)
	r.base = 0
}

// Newcomers counts what exists now and did not exist when a watch began, including objects that the
// program may drop before the next collection. Nothing offsets the new objects: neither the old
// ones that have died, nor the replacement of an old object by a new one.
type Newcomers struct {
	// heap objects, and their bytes by size class. A block of values under 16 bytes is one object
	Objects, Bytes int64
	TinyBlocks     int64 // objects of Objects that are such blocks
	Gone           int64 // old objects that have died
	Replaced       int64 // those of Objects that can be paired with one of Gone of the same size class
	MapEntries     int64 // by which old maps grew
	Goroutines     int64
	Deeper         int64 // bytes by which the stack of an old goroutine got deeper, at most
	Timers         int64 // pending ones
}

// errMissed says that two collections ended between two calls of Passed.
var errMissed = errors.New("the program collects garbage more often than can be followed")

// Count counts what is new, right after a collection that Passed has not taken into account. marked
// is how many bytes are alive.
func (w *Watch) Count() (c Newcomers, marked int64, err error) {
	if w.missed || w.layout.cycle() != w.cycle+2 {
		return c, 0, errMissed
	}
	for range maxTries {
		if c, marked, err = w.count(); err == nil {
			break
		}
		runtime.Gosched()
	}
	if err == nil && w.layout.cycle() != w.cycle+2 {
		err = errMoved
	}
	return c, marked, err
}

// countSpare counts the runtime's own objects among the objects of a word of bits.
func (w *Watch) countSpare(s *span, i int, objects uint64) (n int64) {
	for ; objects != 0; objects &= objects - 1 {
		o := s.base + uintptr(64*i+bits.TrailingZeros64(objects))*s.size
		if _, found := slices.BinarySearch(w.spare, uint64(o)); found {
			n++
		}
	}
	return n
}

func (w *Watch) count() (c Newcomers, marked int64, err error) {
	l := w.layout
	var born [classes]int64
	gone := w.died
	for i := range w.records {
		if r := &w.records[i]; r.base != 0 {
			for _, word := range w.old[r.bits : r.bits+int(r.elems+63)/64] {
				gone[r.class] += int64(bits.OnesCount64(word))
			}
		}
	}
	w.spare = append(w.spare[:0], uint64(w.filled))
	l.eachSpare(func(p uint64) {
		if len(w.spare) < cap(w.spare) { // beyond that, some spare records count as new
			w.spare = append(w.spare, p)
		}
	})
	sort.Slice(w.spare, func(i, j int) bool { return w.spare[i] < w.spare[j] })
	var entries mapEntries
	err = l.spans(true, func(k int, s *span) {
		r := w.recordOf(k, s)
		for i := range s.words() {
			now, old := s.word(i), uint64(0)
			if r != nil {
				old = w.old[r.bits+i]
			}
			fresh := int64(bits.OnesCount64(now&^old)) - w.countSpare(s, i, now&^old)
			born[s.class] += fresh
			gone[s.class] -= int64(bits.OnesCount64(now & old))
			c.Bytes += fresh * int64(s.size)
			marked += int64(bits.OnesCount64(now)) * int64(s.size)
			if r != nil && r.counters >= 0 {
				w.countEntries(&entries, s, i, now&old, w.counters[r.counters:])
			}
		}
	})
	if err != nil {
		return c, 0, err
	}
	for class, n := range born {
		c.Objects += n
		c.Gone += gone[class]
		if class > largeClass {
			c.Replaced += min(n, gone[class])
		}
	}
	c.TinyBlocks = born[rtlayout.TinySpanClass]
	c.MapEntries = entries.new()
	l.eachGoroutine(func(k int, id uint64) {
		if k >= len(w.goroutines) || w.goroutines[k] != id {
			c.Goroutines++
			return
		}
		if depth := l.depth(k); w.depths[k] > 0 {
			c.Deeper = max(c.Deeper, int64(depth)-int64(w.depths[k]))
		}
	})
	l.eachTimer(func(timer uint64) {
		if _, found := slices.BinarySearch(w.timers, timer); !found {
			c.Timers++
		}
	})
	return c, marked, nil
}

// mapEntries counts new entries of old maps, by the maps' headers and by their tables.
type mapEntries struct{ headers, tables int64 }

// new is how many there are: a map may have its header on a stack, and a map of few entries needs
// no table.
func (n *mapEntries) new() int64 { return max(n.headers, n.tables) }

// countEntries adds what maps have more than counters, among the objects of a word of bits.
func (w *Watch) countEntries(to *mapEntries, s *span, i int, objects uint64, counters []uint32) {
	for ; objects != 0; objects &= objects - 1 {
		o := 64*i + bits.TrailingZeros64(objects)
		n, ok := w.layout.mapEntries(s.base+uintptr(o)*s.size, s.size)
		switch more := int64(n) - int64(counters[o]); {
		case !ok || more <= 0:
		case s.size == w.layout.table.Size:
			to.tables += more
		default:
			to.headers += more
		}
	}
}
