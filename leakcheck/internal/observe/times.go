package observe

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Times are the recent times that lie in the objects at a path of a folded report.
type Times struct {
	Place, path, Of string        // the path, for people and in reports, and whose entries these are
	found           int64         // words that are such times
	Age             time.Duration // of the earliest of these, in whole seconds, rounded up
	objects, bytes  int64         // that were read
}

// AreMany reports whether there are many times in the objects: one in each, and in each part of a
// large object.
func (t *Times) AreMany() bool {
	const part = 1 << 10
	return t.found > 0 && t.found >= t.objects && t.found*part >= t.bytes
}

// A TimesQuery asks for the times that are not before Since.
type TimesQuery struct {
	Since  time.Time
	Times  []Times
	Arrays bool // read large arrays without pointers, too, which a copy in place does not have
}

// Add adds a path. It is not inlined, which would take a kilobyte of each test binary.
//
//go:noinline
func (q *TimesQuery) Add(place, path, of string) {
	q.Times = append(q.Times, Times{Place: place, path: path, Of: of})
}

// at returns the number of a path's times, from 1 on; 0 if they were not asked for.
func (q *TimesQuery) at(path string) uint32 {
	for i := range q.Times {
		if q.Times[i].path == path {
			return uint32(i + 1)
		}
	}
	return 0
}

// maxTimesRead bounds how many bytes of the objects at a path are read for times.
const maxTimesRead = 1 << 20

// ReadTimes answers a query. It takes as long as half a scan.
func (s Process) ReadTimes(q *TimesQuery) (err error) {
	defer snapshot.Guard(&err)()
	in := (*snapshot.Snapshot)(s.Snapshot)
	heap, err := in.Heap()
	if err != nil {
		return err
	}
	now := time.Now()
	numbers := make(map[*attribute.Node]uint32)
	paths := make(attribute.Paths)
	attribute.Run(heap, in.Program(), attribute.Options{Watch: &attribute.Watcher{Charge: func(n *attribute.Node, c attribute.Claim) {
		number, known := numbers[n]
		if !known {
			number = q.at(symbol.Unescape(paths.Of(n)))
			numbers[n] = number
		}
		if number == 0 || c.Kind > attribute.KindObject || q.Times[number-1].bytes >= maxTimesRead {
			return
		}
		t := &q.Times[number-1]
		span := heap.Model.SpanOf(c.Obj)
		mem, addr := heaptype.Payload(span, c.Obj)
		if size := min(span.ElemSize, maxTimesRead); mem == nil && heap.Model.Mem.Try(addr, size) { // without pointers
			mem = heap.Model.Mem.Bytes(addr, size)
		}
		found, earliest := findTimes(mem[:min(len(mem), maxTimesRead)], q.Since, now)
		t.Age = max(t.Age, now.Sub(earliest).Truncate(time.Second)+time.Second)
		t.objects += c.Objects
		t.bytes += int64(len(mem))
		t.found += int64(found)
	}}})
	return nil
}
