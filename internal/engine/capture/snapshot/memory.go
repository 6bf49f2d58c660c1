package snapshot

import (
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// The memory that a snapshot and a scan take beside the image, measured with heaps of several
// shapes (TestForecastCoversPeak, internal/tests/memory, doc/reliability.md): the runtime's tables
// and the indexes of spans, which come to a share of the heap; the scan's notes for each slot of an
// object; for each block of the tiny allocator, 8 bytes for each reference to a value in it, of
// which there are rarely more than eight; and a part that does not depend on the heap.
//
// The notes for a slot are some bytes at least, and more where one object refers to very many
// others, whose references are all to be followed next. A snapshot is taken if there is room for
// the least: what goes on to need more notices in time that there is none (package offheap,
// goruntime.Model.InTime). Remedies name the limit at which there is room for the most.
const (
	spanShare       = 0.05 // of the heap in use
	leastPerSlot    = 5
	mostPerSlot     = 15
	bytesPerTiny    = 64
	perGoroutine    = 3 << 10 // its frames, slots and references, on the heap
	fixedBytes      = 8 << 20
	moreFixed       = 4 << 20
	imagePerPointer = 1.15 // the image has whole spans, their free slots included

	// What holding a heap's distances takes beside, with the references of all objects where there
	// is room (packages holding and edges), and the graph of all references for retained sizes
	// (package retain): vertices, and edges of half the size of the words that may be references.
	leastHeldPerSlot = 5
	heldFixed        = 4 << 20
	mostHeldPerSlot  = 24
	retainedPerSlot  = 16
	retainedShare    = 0.5 // of the image

	// The kernel copies pages that the program writes to while the frozen process lives. A program
	// at rest writes to few pages. In a program at work, the collector's mark bits alone write to
	// half of the pages of small objects (go1.26 runtime/mgcmark_greenteagc.go, inline mark bits).
	writtenAtRest = 0.05 // of the heap in use
	writtenAtWork = 0.5

	// Limits of address space and data count more than the memory above: the runtime's arenas (64
	// MiB of address space, made writable by 4 MiB), and, in programs with cgo, a stack and an
	// arena of malloc for each thread that has yet to start. The runtime cannot recover if the
	// system refuses these: it ends the process.
	arenaSize    = 64 << 20
	growth       = 16 << 20
	threadStack  = 8 << 20
	threadArena  = 64 << 20
	moreThreads  = 2 // beside one for each processor
	indexReading = 4 << 20
)

// metrics.Read writes to memoryRead in place; captures take turns.
var memoryRead = [...]metrics.Sample{
	{Name: "/gc/scan/heap:bytes"},
	{Name: "/gc/scan/globals:bytes"},
	{Name: "/gc/scan/stack:bytes"},
	{Name: "/gc/heap/objects:objects"},
	{Name: "/memory/classes/heap/objects:bytes"},
	{Name: "/memory/classes/heap/unused:bytes"},
}

// A forecast is how many bytes a snapshot and a scan are going to take.
type forecast struct {
	image  int64 // memory with pointers, which is copied
	tables int64 // the notes of scan and queries, at least
	more   int64 // that they take at most beside
	// written is the pages that are copied because the program writes to them while the frozen
	// process lives.
	written int64
}

// withDisk is the forecast if the image goes onto a disk.
func (f forecast) withDisk() forecast {
	f.image /= freeze.DiskShare
	return f
}

// withShadow adds the race detector's shadow memory.
func (f forecast) withShadow() forecast {
	f.tables += shadowShare * (f.image + f.tables)
	f.more += shadowShare * f.more
	return f
}

func (f forecast) need() headroom.Need { return need(f.image, f.tables, f.written) }

// enough is the need of a program for which memory is not short: a scan takes no more, a failure
// takes several snapshots and a message, and the program may have grown by the next one. In a small
// heap, a failure of AssertNoGrowth took 34 MB.
func (f forecast) enough() headroom.Need {
	const ofFailure = 16 << 20
	all := f.image + f.tables + f.more + f.written
	return need(f.image, f.tables+f.more+all/2+ofFailure, f.written)
}

// Queries say what is asked about a snapshot after a scan.
type Queries struct {
	Held     bool // what roots and paths hold
	Retained bool // what cutting nodes would free
}

// Configure sets the option.
func (q Queries) Configure(c *Config) { c.Queries = q }

// tables adds what the notes of scan and queries take for a number of slots, and for an image. The
// queries come one after another.
func (f *forecast) addTables(slots int64, q Queries) {
	least, most := int64(0), moreFixed+int64(mostPerSlot-leastPerSlot)*slots
	if q.Held {
		least, most = heldFixed+leastHeldPerSlot*slots, max(most, (mostHeldPerSlot-leastHeldPerSlot)*slots)
	}
	if q.Retained {
		least = max(least, retainedPerSlot*slots+int64(retainedShare*float64(f.image)))
	}
	f.tables += leastPerSlot*slots + least
	f.more += most
}

// heapNeeds makes the forecast for a process that is frozen.
func heapNeeds(m *goruntime.Model, q Queries) forecast {
	heap, tiny := uint64(0), int64(0)
	for i := range m.Spans {
		heap += m.Spans[i].Size
		if m.Spans[i].Tiny {
			tiny += int64(m.Spans[i].NElems)
		}
	}
	f := forecast{
		image:   int64(m.PointerBytes()),
		tables:  bytesPerTiny*tiny + int64(spanShare*float64(heap)) + perGoroutine*int64(len(m.Goroutines)) + fixedBytes,
		written: int64(writtenAtRest * float64(heap)),
	}
	f.addTables(int64(m.NumObjects), q)
	return f.withShadow()
}

// memoryNeeded makes the forecast from the runtime's own figures of the last collection.
func memoryNeeded(rests bool, q Queries) forecast {
	metrics.Read(memoryRead[:])
	value := func(i int) float64 {
		if v := memoryRead[i].Value; v.Kind() == metrics.KindUint64 {
			return float64(v.Uint64())
		}
		return 0
	}
	inUse := value(4) + value(5)
	written := writtenAtRest
	if !rests {
		written = writtenAtWork
	}
	f := forecast{
		image:   int64(min(value(0)*imagePerPointer, inUse) + value(1) + value(2)),
		tables:  int64(spanShare*inUse) + perGoroutine*int64(runtime.NumGoroutine()) + fixedBytes,
		written: int64(written * inUse),
	}
	slots := value(3) * inUse / max(value(4), 1) // free ones included
	f.addTables(int64(slots), q)
	return f.withShadow()
}

// need returns the memory that an image, tables and copies of written pages take together.
func need(image, tables, written int64) headroom.Need {
	threads := int64(runtime.GOMAXPROCS(0) + moreThreads)
	return headroom.Need{
		Resident: image + tables + written,
		Private:  tables + growth + threads*threadStack,
		Address:  image + (tables/arenaSize+1)*arenaSize + threads*(threadStack+threadArena),
	}
}

// system reads the limits of memory.
var system headroom.Recent

// begun is what was known when the last snapshot began: how much memory the limits left then, and
// how much would do.
var begun struct {
	sync.Mutex
	limits []headroom.Limit
	enough headroom.Need
}

// begin notes a forecast, before any of it is taken.
func (f forecast) begin() {
	_ = system.Check(f.need()) // measures; who takes the memory asks again
	f.note()
	begun.Lock()
	defer begun.Unlock()
	begun.limits = system.Measured()
}

// note notes a forecast that is known only after some of the memory is taken.
func (f forecast) note() {
	begun.Lock()
	defer begun.Unlock()
	begun.enough = f.enough()
}

func checkMemory(n headroom.Need) error {
	if err := system.Check(n); err != nil {
		return memoryError(err)
	}
	return nil
}

// withEnough makes the remedy of an error that memory is short for what comes before the snapshot
// one that is enough for the snapshot, too.
func withEnough(err error) error {
	u, short := (*Unavailable)(nil), (*headroom.Shortage)(nil)
	if errors.As(err, &u) && errors.As(err, &short) && u.Remedy == short.Way() {
		enough := *u
		enough.Remedy = memoryShortage(short).(*Unavailable).Remedy
		return &enough
	}
	return err
}

// memoryShortage turns an error that memory is short into an *Unavailable; it returns nil for other
// errors.
func memoryShortage(err error) error {
	short := (*headroom.Shortage)(nil)
	if !errors.As(err, &short) {
		return nil
	}
	begun.Lock()
	defer begun.Unlock()
	for i := range begun.limits {
		if l := &begun.limits[i]; l.Name == short.Name {
			short.Enough = max(short.Enough, l.Enough(begun.enough))
		}
	}
	return &Unavailable{Cause: "there is not enough memory to look at the heap", Remedy: short.Way(), Err: short}
}

// memoryError turns an error that memory is short or was refused into an *Unavailable; it returns
// nil for other errors.
func memoryError(err error) error {
	if u := memoryShortage(err); u != nil {
		return u
	}
	if refused := (*remedy.Error)(nil); errors.As(err, &refused) {
		return &Unavailable{Cause: "the system refuses what looking at the heap takes", Remedy: remedy.Of(err), Err: refused}
	}
	return nil
}

// Forecast is how many bytes the image and the scan were expected to take, without the pages that
// are copied on write.
func (s *Snapshot) Forecast() (image, scan int64) {
	f := heapNeeds(s.model, Queries{})
	if s.inPlace {
		return s.copied, f.tables + f.more
	}
	return f.image, f.tables + f.more
}

// Ask returns an error if there is no memory for queries, to a snapshot that was not taken for
// them.
func (s *Snapshot) Ask(q Queries) error {
	if q == (Queries{}) {
		return nil
	}
	f := heapNeeds(s.model, q)
	without := heapNeeds(s.model, Queries{})
	return checkMemory(need(0, f.tables-without.tables, 0))
}
