package snapshot

import (
	"errors"
	"runtime"
	"runtime/metrics"

	"github.com/leakgate/leakgate/internal/engine/memory/headroom"
	"github.com/leakgate/leakgate/internal/engine/memory/remedy"
	"github.com/leakgate/leakgate/internal/engine/process/freeze"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// The memory that a snapshot and a scan take beside the image, measured with heaps of several
// shapes (TestForecastCoversPeak, doc/reliability.md): the runtime's tables and the indexes of
// spans, which come to a share of the heap; the scan's notes for each slot of an object; for each
// block of the tiny allocator, 8 bytes for each reference to a value in it, of which there are
// rarely more than eight; and a part that does not depend on the heap. A scan that needs more
// notices it (package offheap).
const (
	spanShare       = 0.05 // of the heap in use
	bytesPerSlot    = 14
	bytesPerTiny    = 64
	fixedBytes      = 16 << 20
	imagePerPointer = 1.15 // the image has whole spans, their free slots included

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
	indexReading = 16 << 20
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
	tables int64 // the scan's notes
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
	return f
}

func (f forecast) need() headroom.Need { return need(f.image, f.tables, f.written) }

// heapNeeds makes the forecast for a process that is frozen.
func heapNeeds(m *goruntime.Model) forecast {
	heap := uint64(0)
	for i := range m.Spans {
		heap += m.Spans[i].Size
	}
	return forecast{
		image:   int64(m.PointerBytes()),
		tables:  scanNeeds(m) + int64(spanShare*float64(heap)) + fixedBytes,
		written: int64(writtenAtRest * float64(heap)),
	}.withShadow()
}

// memoryNeeded makes the forecast from the runtime's own figures of the last collection.
func memoryNeeded(rests bool) forecast {
	metrics.Read(memoryRead[:])
	value := func(i int) float64 {
		if v := memoryRead[i].Value; v.Kind() == metrics.KindUint64 {
			return float64(v.Uint64())
		}
		return 0
	}
	inUse := value(4) + value(5)
	image := min(value(0)*imagePerPointer, inUse) + value(1) + value(2)
	written := writtenAtRest
	if !rests {
		written = writtenAtWork
	}
	slots := value(3) * inUse / max(value(4), 1) // free ones included
	tables := tablesNeeded(int64(slots)) + int64(spanShare*inUse) + fixedBytes
	return forecast{int64(image), tables, int64(written * inUse)}.withShadow()
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

// scanNeeds is how many bytes of notes a scan of a process takes.
func scanNeeds(m *goruntime.Model) int64 {
	tiny := int64(0)
	for i := range m.Spans {
		if m.Spans[i].Tiny {
			tiny += int64(m.Spans[i].NElems)
		}
	}
	return tablesNeeded(int64(m.NumObjects)) + bytesPerTiny*tiny
}

// tablesNeeded is how many bytes of notes a scan takes for a number of object slots.
func tablesNeeded(slots int64) int64 { return bytesPerSlot * slots }

// system reads the limits of memory.
var system headroom.Recent

func checkMemory(n headroom.Need) error {
	if err := system.Check(n); err != nil {
		return memoryError(err)
	}
	return nil
}

// memoryShortage turns an error that memory is short into an *Unavailable; it returns nil for other
// errors.
func memoryShortage(err error) error {
	if short := (*headroom.Shortage)(nil); errors.As(err, &short) {
		return &Unavailable{Cause: "there is not enough memory to look at the heap", Remedy: short.Way(), Err: short}
	}
	return nil
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
	f := heapNeeds(s.model)
	if s.inPlace {
		return s.copied, f.tables
	}
	return f.image, f.tables
}
