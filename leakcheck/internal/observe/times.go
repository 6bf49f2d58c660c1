package observe

import (
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/symbol"
)

// Times are the times that lie in the objects at a path of a folded report: recent ones, and those
// that are ahead, at which entries expire.
type Times struct {
	Place, path, Of string // the path, for people and in reports, and whose entries these are
	recent, ahead   stretch
	objects, bytes  int64 // that were read
}

// A stretch has so many words that are times, from first to last, in seconds since 1970.
type stretch struct{ found, first, last int64 }

// many reports whether there are many of some times: one in each object, and in each part of a
// large one.
func (t *Times) many(s *stretch) bool {
	const part = 1 << 10
	return s.found > 0 && s.found >= t.objects && s.found*part >= t.bytes
}

// Recent reports whether there are many recent times.
func (t *Times) Recent() bool { return t.many(&t.recent) }

// Expires returns how far ahead the last of the times is, if there are many and none of them is
// long ago; 0 if not. What expires soon may do so while the experiment is under way.
func (t *Times) Expires(q *TimesQuery) time.Duration {
	now, all := q.now.Unix(), t.ahead
	if t.recent.found > 0 {
		all.found, all.first = all.found+t.recent.found, t.recent.first
	}
	if t.ahead.found == 0 || !t.many(&all) || all.last-all.first > now-q.Since.Unix() {
		return 0
	}
	return time.Duration(all.last-now) * time.Second
}

// A TimesQuery asks for the times that are not before Since.
type TimesQuery struct {
	Since  time.Time
	Times  []Times
	now    time.Time
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

// mostAhead is how far ahead a time may be at which an entry expires, in seconds.
const mostAhead = 24 * 60 * 60

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
	q.now = time.Now()
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
		t.objects += c.Objects
		t.bytes += int64(len(mem))
		mem = mem[:min(len(mem), maxTimesRead)]
		t.recent.find(mem, q.Since.Unix(), q.now.Unix())
		t.ahead.find(mem, q.now.Unix()+1, q.now.Unix()+mostAhead)
	}}})
	return nil
}
