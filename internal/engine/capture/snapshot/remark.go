package snapshot

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/realtime"
)

// secondGCMarks are the objects that the collection after a snapshot found alive: the mark bits of
// each span, by the span's address. The mark bits in the snapshot itself are those of the
// collection before it. If the program goes on working, some of the objects that the earlier
// collection found alive are garbage when the process is frozen. Freezing also drops objects that
// processors cache. The next collection finds all of these dead.
type secondGCMarks map[uint64]spanMarks

type spanMarks struct {
	elemSize uint64
	objects  uint32
	bits     []byte
}

// maxPairs bounds how often a program that collects garbage by itself is frozen twice, in the hope
// that it does not collect between the two freezes.
const maxPairs = 12

// freezeTwice freezes the process, has it collect garbage and freezes it again. In between, the
// runtime is kept from collecting by itself: the program may reuse memory that the second
// collection frees, and a third collection would mark new objects where old ones were. If the
// runtime collects all the same, or the program calls runtime.GC, freezeTwice takes the pair again.
// second is nil if the process cannot be frozen a second time.
func (s *Snapshot) freezeTwice(config *Config) (first, second Frozen, err error) {
	defer withoutCollections(s.garbageAllowed())()
	for try := 1; ; try++ {
		before, after := uint64(0), uint64(0)
		first, err = s.take(func() bool {
			before = collections()
			return !Marking()
		})
		if err != nil {
			return nil, nil, err
		}
		beginCollection()
		awaitMarking(config.Context, before)
		again := config.Again
		if again == nil {
			again = s.takeAgain
		}
		second, _ = again(func() bool { // waits for the end of the collection
			after = collections()
			return after != before && !Marking()
		})
		if awaitCollection(config.Context) != nil && second != nil {
			err := second.Close()
			return first, nil, err
		}
		if second == nil {
			return first, nil, nil
		}
		between := int(after - before)
		s.collections = max(s.collections, between-1)
		if between == 1 || try == maxPairs {
			return first, second, nil
		}
		if err := errors.Join(first.Close(), second.Close()); err != nil {
			return nil, nil, err
		}
	}
}

// The linker lets packages refer to this variable (go1.26 and 1.27 runtime/mgc.go).
//
//go:linkname writeBarrier runtime.writeBarrier
var writeBarrier struct {
	enabled bool
	pad     [3]byte
	alignme uint64
}

// Marking reports whether a garbage collection is under way, in which case the mark bits are not
// those of the last collection that ended (go1.26 and go1.27 runtime/mgc.go, setGCPhase).
func Marking() bool { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&writeBarrier))) != 0 }

// awaitMarking waits until a collection marks, or until one has ended after the first before
// collections. A freeze takes all processors but one away, which waits for the end of a collection
// (go1.26 runtime/debug.go, GOMAXPROCS; proc.go, stopTheWorldGC) in one queue with goroutines that
// wait to begin the next collection. A freeze that asks while a collection marks is the first in
// that queue.
//
// The collection has been begun, so the wait ends soon unless the machine is busy.
func awaitMarking(ctx context.Context, before uint64) {
	for deadline := realtime.Clock() + maxCollect; !Marking() && collections() == before; runtime.Gosched() {
		if ctx.Err() != nil || realtime.Clock() > deadline {
			return
		}
	}
}

// Bounds of how many bytes a program may allocate, while it is frozen twice, before the runtime
// collects garbage all the same: if the processors are busy, the two freezes take seconds.
const (
	leastGarbage = 4 << 20
	mostGarbage  = 1 << 30
)

// garbageAllowed is half of the bytes that the limits of the system leave beside the snapshot and
// the scan, within bounds.
func (s *Snapshot) garbageAllowed() int64 {
	f := memoryNeeded(false, s.queries)
	if s.onDisk > 0 {
		f = f.withDisk()
	}
	return min(max(system.Left(f.need())/2, leastGarbage), mostGarbage)
}

// ampleMemory is how many bytes limits leave if nothing is done about garbage.
const ampleMemory = 1 << 30

// withLittleGarbage makes the runtime collect garbage, until undo is called, before the heap has
// taken most of what limits of memory leave. Otherwise the heap may double before a collection,
// whatever the limits are. If the program changes its memory limit meanwhile, undo keeps the
// program's.
func withLittleGarbage() (undo func()) {
	left := system.Left(headroom.Need{})
	if left >= ampleMemory {
		return func() {}
	}
	before := debug.SetMemoryLimit(-1)
	bound := min(before, mappedBytes()+left*3/4)
	debug.SetMemoryLimit(bound)
	return func() {
		if now := debug.SetMemoryLimit(before); now != bound {
			debug.SetMemoryLimit(now)
		}
	}
}

// withFewCollections keeps the runtime, until undo is called, from collecting garbage while a
// process is frozen, unless there is no other way: each collection writes to half of the pages of
// small objects, which the kernel then has to copy. A snapshot allocates less than that. undo is
// nil where memory is ample.
func withFewCollections(n headroom.Need) (undo func()) {
	left := system.Left(n)
	if left >= ampleMemory {
		return nil
	}
	return withoutCollections(fixedBytes + heldFixed + left*3/4)
}

// awaitMarked waits, where memory is short, until no collection marks, before the frozen process
// ends. Each page that a collection writes to is copied while that process has it, too. If there is
// no memory for the copies, the kernel ends the frozen process and waits until its memory is free
// (Linux mm/oom_kill.c, oom_evaluate_task); but while that process ends of its own accord, the
// kernel does not wait for it, and ends this one.
func (s *Snapshot) awaitMarked() {
	if s.collect == nil {
		return
	}
	for deadline := realtime.Clock() + maxCollect; Marking() && realtime.Clock() < deadline; {
		realtime.Sleep(100 * time.Microsecond)
	}
}

// withoutCollections keeps the runtime from collecting garbage by itself until undo is called, or
// until the program has taken so many bytes more than it has at the call. A memory limit of the
// program's own is replaced meanwhile: below the heap's size it makes the runtime collect all the
// time. If the program changes a setting itself meanwhile, undo keeps the program's value.
func withoutCollections(bytes int64) (undo func()) {
	const off = -1
	percent := debug.SetGCPercent(off)
	bound := mappedBytes() + bytes
	limit := debug.SetMemoryLimit(bound)
	return func() {
		if now := debug.SetMemoryLimit(limit); now != bound {
			debug.SetMemoryLimit(now)
		}
		if now := debug.SetGCPercent(percent); now != off {
			debug.SetGCPercent(now)
		}
	}
}

// metrics.Read writes to mappedRead in place; captures take turns.
var mappedRead = [...]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}

// mappedBytes is the memory that a memory limit bounds (go1.26 runtime/debug/garbage.go,
// SetMemoryLimit).
func mappedBytes() int64 {
	metrics.Read(mappedRead[:])
	total, released := mappedRead[0].Value, mappedRead[1].Value
	if total.Kind() != metrics.KindUint64 || released.Kind() != metrics.KindUint64 {
		return math.MaxInt64 / 2 // a limit that is never reached
	}
	return int64(total.Uint64() - released.Uint64())
}

// metrics.Read writes to collectionsRead in place; captures take turns.
var collectionsRead = [...]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}

// collections is how many garbage collections have ended.
func collections() uint64 {
	metrics.Read(collectionsRead[:])
	if v := collectionsRead[0].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0
}

// maxLater bounds how many collections the second process may be ahead of the first. Each
// collection but the first takes some new objects for the ones that lay there before, and excuses
// less.
const maxLater = 4

// readLater reads the mark bits of the second process. It leaves s.later nil if they cannot be
// read, or if there were too many other collections.
func (s *Snapshot) readLater(second Frozen) {
	now, err := goruntime.LoadMarks(image.NewSpace(second), s.index, s.model.Bias(), runtime.GOARCH)
	if err != nil {
		return
	}
	cycles := now.Cycles - s.model.Cycles
	s.collections = max(s.collections, int(cycles)-1)
	if cycles == 0 || cycles > maxLater {
		return
	}
	s.secondMarks = marksOf(now)
}

// FoundDead reports whether the collection after the snapshot found an object dead. It returns
// false if there was no such collection.
func (s *Snapshot) FoundDead(span *goruntime.Span, index uint32) bool {
	return s.secondMarks != nil && !s.secondMarks.alive(span, index)
}

// SecondMarks reports whether the marks of the collection after the snapshot are known.
func (s *Snapshot) SecondMarks() bool { return s.secondMarks != nil }

// alive reports whether the collection after the snapshot found an object alive. If a span of
// another layout lies at its address by then, the object is dead. The number of objects tells two
// spans of one object size apart: a span of objects without pointers holds more, since it has no
// pointer bits.
func (l secondGCMarks) alive(span *goruntime.Span, index uint32) bool {
	m, ok := l[span.Base]
	return ok && m.elemSize == span.ElemSize && m.objects == span.NElems && m.bits[index>>3]>>(index&7)&1 != 0
}
