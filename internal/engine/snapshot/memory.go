package snapshot

import (
	"errors"
	"runtime"
	"runtime/metrics"

	"github.com/leakgate/leakgate/internal/engine/freeze"
	"github.com/leakgate/leakgate/internal/engine/goruntime"
	"github.com/leakgate/leakgate/internal/engine/headroom"
	"github.com/leakgate/leakgate/internal/engine/remedy"
)

// What a snapshot and a scan take beside the image, measured with heaps of several shapes
// (TestForecastCoversPeak, doc/reliability.md): the runtime's tables and the indexes of spans,
// which come to a share of the heap; what the scan notes down for each slot of an object; for each
// block of the tiny allocator, 8 bytes for each reference to a value in it, of which there are
// rarely more than eight; and what does not depend on the heap. A scan that needs more than that
// notices (package offheap).
const (
	spanShare       = 0.05 // of the heap in use
	bytesPerSlot    = 14
	bytesPerTiny    = 64
	fixedBytes      = 16 << 20
	imagePerPointer = 1.15 // the image has whole spans, what is free in them included

	// Pages that the program writes to while the frozen process lives are copied. One that is at
	// rest writes to little; the collector's marks of another write to half of the pages of small
	// objects (go1.26 runtime/mgcmark_greenteagc.go, inline mark bits).
	writtenAtRest = 0.05 // of the heap in use
	writtenAtWork = 0.5

	// What limits of address space and data count beside that: the runtime's arenas (64 MiB of
	// address space, made writable by 4 MiB), and for each thread that has yet to start, in
	// programs with cgo, a stack and an arena of malloc. There is no way back from a refusal of
	// these: the runtime ends the process.
	arenaSize    = 64 << 20
	growth       = 16 << 20
	threadStack  = 8 << 20
	threadArena  = 64 << 20
	moreThreads  = 2 // beside one for each processor
	indexReading = 16 << 20
)

// memoryRead is read in place; captures take turns.
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
	image  int64 // memory with pointers, copied
	tables int64 // what the scan notes down
	// pages that are copied since the program writes to them while the frozen process lives
	written int64
}

// withDisk is the forecast for an image on a disk.
func (f forecast) withDisk() forecast {
	f.image /= freeze.DiskShare
	return f
}

// withShadow adds the race detector's memory.
func (f forecast) withShadow() forecast {
	f.tables += shadowShare * (f.image + f.tables)
	return f
}

func (f forecast) need() headroom.Need { return need(f.image, f.tables, f.written) }

// heapNeeds is the forecast for a process that is frozen.
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

// memoryNeeded is the forecast from the runtime's own figures of the last collection.
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

// need is what an image, tables and copies of pages that are written to come to.
func need(image, tables, written int64) headroom.Need {
	threads := int64(runtime.GOMAXPROCS(0) + moreThreads)
	return headroom.Need{
		Resident: image + tables + written,
		Private:  tables + growth + threads*threadStack,
		Address:  image + (tables/arenaSize+1)*arenaSize + threads*(threadStack+threadArena),
	}
}

// scanNeeds is what a scan of a process notes down.
func scanNeeds(m *goruntime.Model) int64 {
	tiny := int64(0)
	for i := range m.Spans {
		if m.Spans[i].Tiny {
			tiny += int64(m.Spans[i].NElems)
		}
	}
	return tablesNeeded(int64(m.NumObjects)) + bytesPerTiny*tiny
}

// tablesNeeded is what a scan notes down for so many slots of objects.
func tablesNeeded(slots int64) int64 { return bytesPerSlot * slots }

// system is where limits are read.
var system headroom.Recent

func checkMemory(n headroom.Need) error {
	if err := system.Check(n); err != nil {
		return memoryError(err)
	}
	return nil
}

// memoryShortage is the error of memory that is short, nil for other errors.
func memoryShortage(err error) error {
	if short := (*headroom.Shortage)(nil); errors.As(err, &short) {
		return &Unavailable{Cause: "there is not enough memory to look at the heap", Remedy: short.Way(), Err: short}
	}
	return nil
}

// memoryError is the error of memory that is short or was refused, nil for other errors.
func memoryError(err error) error {
	if u := memoryShortage(err); u != nil {
		return u
	}
	if refused := (*remedy.Error)(nil); errors.As(err, &refused) {
		return &Unavailable{Cause: "the system refuses what looking at the heap takes", Remedy: remedy.Of(err), Err: refused}
	}
	return nil
}

// Forecast is how many bytes the image was expected to take, and the scan, but for pages that are copied on
// write.
func (s *Snapshot) Forecast() (image, scan int64) {
	f := heapNeeds(s.model)
	if s.inPlace {
		return s.copied, f.tables
	}
	return f.image, f.tables
}
