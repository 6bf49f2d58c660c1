package typing

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
)

// Table is the typings of all objects, by object number: a word of four bytes for each, which is
// most of the memory that a scan takes. A word holds a typing that begins where its object does.
// Typings that do not, of objects seen from inside, are in a list on the side.
type Table struct {
	words []uint32
	aside *aside
}

// The parts of a word. The layout isAside, which no typing has, says that the rest is an index in
// the list on the side.
const (
	layoutBits     = 4
	fullBits       = 1
	confidenceBits = 3
	typeShift      = layoutBits + fullBits + confidenceBits

	isAside = 1<<layoutBits - 1
)

// aside is a list of typings that do not fit into a word. Its entries never change: an object that
// is typed again leaves its old entry behind.
type aside struct {
	mu     sync.Mutex
	n      uint32
	chunks [maxAside / chunkLen]atomic.Pointer[[chunkLen]Typing]
}

const (
	chunkLen = 1 << 12
	maxAside = 1 << 24
)

// offHeap is from how many typings on a table has a mapping of its own.
const offHeap = 1 << 17

// NewTable returns a table without typings, to be given back with Free. The table of a large heap
// lies outside of the heap of this process.
func NewTable(objects uint32) Table {
	t := Table{aside: new(aside)}
	if objects < offHeap {
		t.words = make([]uint32, objects)
	} else {
		t.words = offheap.Make(int(objects))
	}
	return t
}

// Free gives back the memory of a table, which must not be read any more.
func (t Table) Free() {
	if len(t.words) >= offHeap {
		offheap.Free(t.words)
	}
}

// Of returns the typing of an object.
func (t Table) Of(obj uint32) Typing { return t.unpack(t.words[obj]) }

// Touch writes to each page. A page that is read first would take two faults: one for the page of
// zeros that all such pages share, and another, mostly in compare-and-swap, for a page of its own.
// That took 8 % of a scan of 5 million objects.
func (t Table) Touch() {
	const page = 4096 / 4 // or less than a page
	for i := 0; i < len(t.words); i += page {
		t.words[i] = 0
	}
}

// Fetch reads an object's typing only to bring it into the processor's cache. Other goroutines may
// replace it meanwhile.
func (t Table) Fetch(obj uint32) uint32 { return offheap.Load32(&t.words[obj]) }

// Load is Of while other goroutines may replace typings. word is for Replace.
//
//go:norace
func (t Table) Load(obj uint32) (ty Typing, word uint32) {
	word = offheap.Load32(&t.words[obj])
	return t.unpack(word), word
}

// Replace sets a typing, if it is still the one that Load returned with word; else it returns
// false.
//
//go:norace
func (t Table) Replace(obj, word uint32, ty Typing) bool {
	packed, ok := pack(ty)
	if !ok {
		if packed, ok = t.aside.add(ty); !ok {
			return true // the list is full: the object keeps its typing
		}
	}
	return atomic.CompareAndSwapUint32(&t.words[obj], word, packed)
}

// pack makes a word of a typing, if it fits.
func pack(ty Typing) (word uint32, ok bool) {
	word = uint32(ty.Type)<<typeShift | uint32(ty.Confidence)<<(layoutBits+fullBits) | uint32(ty.Layout)
	if ty.Full {
		word |= 1 << layoutBits
	}
	return word, ty.Offset == 0
}

//go:norace
func (t Table) unpack(w uint32) Typing {
	if w&isAside == isAside {
		return t.aside.at(w >> layoutBits)
	}
	return Typing{
		Type:   int32(w >> typeShift),
		Layout: heaptype.Layout(w & (1<<layoutBits - 1)),
		Grounds: Grounds{
			Confidence: heaptype.Confidence(w >> (layoutBits + fullBits) & (1<<confidenceBits - 1)),
			Full:       w>>layoutBits&1 != 0,
		},
	}
}

//go:norace
//go:noinline
func (a *aside) at(i uint32) Typing { return a.chunks[i/chunkLen].Load()[i%chunkLen] }

// add appends a typing that does not fit into a word, and returns its word; false if the list is
// full. The race detector does not see the write: readers get the word by package offheap.
//
//go:norace
func (a *aside) add(ty Typing) (word uint32, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == maxAside {
		return 0, false
	}
	i := a.n
	a.n++
	chunk := a.chunks[i/chunkLen].Load()
	if chunk == nil {
		chunk = new([chunkLen]Typing)
		a.chunks[i/chunkLen].Store(chunk)
	}
	chunk[i%chunkLen] = ty
	return i<<layoutBits | isAside, true
}

// A value that does not fit into its part of a word fails to compile here.
const (
	_ = uint(isAside - 1 - heaptype.LayoutInternal)
	_ = uint(1<<confidenceBits - 1 - heaptype.FromOwner)
	_ = uint(math.MaxUint32>>typeShift - heaptype.MaxIndex)
	_ = uint(math.MaxUint32>>layoutBits - maxAside)
)
