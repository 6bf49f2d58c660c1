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

	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/image"
)

// secondGCMarks are what the collection after a snapshot found alive: the mark bits of each span, by
// its address. The mark bits of the snapshot itself are those of the collection before it. Where a
// program goes on working, some of what that found alive is garbage when the process is frozen, and
// freezing drops what processors cache; the next collection finds such objects dead.
type secondGCMarks map[uint64]spanMarks

type spanMarks struct {
	elemSize uint64
	objects  uint32
	bits     []byte
}

// maxPairs bounds how often a program that collects garbage by itself is frozen twice in the hope
// that it does not do so in between.
const maxPairs = 12

// freezeTwice freezes the process, lets it collect garbage and freezes it again. In between, the
// runtime collects nothing by itself: memory that the second collection frees may be used again,
// and a third would take what is there then for what was there before. If it does so all the same,
// or the program calls runtime.GC, the pair is taken again. The second process is nil if that
// cannot be had.
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

// Marking reports whether a garbage collection is under way, so that mark bits are not those of the
// last one that ended (go1.26 and go1.27 runtime/mgc.go, setGCPhase).
func Marking() bool { return atomic.LoadUint32((*uint32)(unsafe.Pointer(&writeBarrier))) != 0 }

// awaitMarking waits until a collection marks, or has ended: so many had ended before. To freeze
// the process, all processors but one are taken away, which waits for the end of a collection
// (go1.26 runtime/debug.go, GOMAXPROCS; proc.go, stopTheWorldGC), in turn with those that wait to
// begin the next one. Who asks for it while one marks is the first of them.
//
// The collection has been begun, so the wait ends soon, unless the machine is busy; in a bubble of
// testing/synctest, whose clock stands still, with the collection alone.
func awaitMarking(ctx context.Context, before uint64) {
	for deadline := time.Now().Add(maxCollect); !Marking() && collections() == before; runtime.Gosched() {
		if ctx.Err() != nil || time.Now().After(deadline) {
			return
		}
	}
}

// What a program may allocate before garbage is collected all the same, while it is frozen twice:
// the processors may be busy, so that this takes seconds.
const (
	leastGarbage = 4 << 20
	mostGarbage  = 1 << 30
)

// garbageAllowed is half of what the limits of the system leave beside the snapshot and the scan,
// within bounds.
func (s *Snapshot) garbageAllowed() int64 {
	f := memoryNeeded(false)
	if s.onDisk > 0 {
		f = f.withDisk()
	}
	return min(max(system.Left(f.need())/2, leastGarbage), mostGarbage)
}

// withoutCollections keeps the runtime from collecting garbage by itself until it is undone, or the
// program has taken so many bytes more than it has now. A memory limit of the program's own does
// not count, since below the heap's size that makes the runtime collect all the time. What the
// program itself sets meanwhile stays.
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

// mappedRead is read in place; captures take turns.
var mappedRead = [...]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}

// mappedBytes is what a memory limit bounds (go1.26 runtime/debug/garbage.go, SetMemoryLimit).
func mappedBytes() int64 {
	metrics.Read(mappedRead[:])
	total, released := mappedRead[0].Value, mappedRead[1].Value
	if total.Kind() != metrics.KindUint64 || released.Kind() != metrics.KindUint64 {
		return math.MaxInt64 / 2 // none would do
	}
	return int64(total.Uint64() - released.Uint64())
}

// collectionsRead is read in place; captures take turns.
var collectionsRead = [...]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}

// collections is how many garbage collections have ended.
func collections() uint64 {
	metrics.Read(collectionsRead[:])
	if v := collectionsRead[0].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0
}

// maxLater is how many collections the second process may be behind the first. Each but the first
// takes some of what is new for what was there before, and excuses less.
const maxLater = 4

// readLater reads the mark bits of the second process. Without an error, it leaves it at that if
// there were many other collections.
func (s *Snapshot) readLater(second Frozen) {
	now, err := goruntime.LoadMarks(image.NewSpace(second), s.names, s.model.Bias(), runtime.GOARCH)
	if err != nil {
		return
	}
	cycles := now.Cycles - s.model.Cycles
	s.collections = max(s.collections, int(cycles)-1)
	if cycles == 0 || cycles > maxLater {
		return
	}
	s.later = marksOf(now)
}

// Excused counts what was missed and found dead by the collection after the snapshot.
func (s *Snapshot) Excused() (objects, bytes int64) {
	if s.later == nil {
		return 0, 0
	}
	s.graph.Missed(func(span *goruntime.Span, index uint32) {
		if !s.later.alive(span, index) {
			objects++
			bytes += int64(span.ElemSize)
		}
	})
	return objects, bytes
}

// FoundDead reports whether the collection after the snapshot found an object dead. It is false where there
// was none.
func (s *Snapshot) FoundDead(span *goruntime.Span, index uint32) bool {
	return s.later != nil && !s.later.alive(span, index)
}

// SecondMarks reports whether there are the marks of the collection after the snapshot.
func (s *Snapshot) SecondMarks() bool { return s.later != nil }

// alive reports whether the collection after the snapshot found an object alive. If other objects
// lie there by now, in a span of another layout, it did not. Objects of one size are more to a span
// if they have no pointers, whose bits take room in it.
func (l secondGCMarks) alive(span *goruntime.Span, index uint32) bool {
	m, ok := l[span.Base]
	return ok && m.elemSize == span.ElemSize && m.objects == span.NElems && m.bits[index>>3]>>(index&7)&1 != 0
}
