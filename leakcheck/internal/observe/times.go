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

// Window describes the time that the objects are from, "of the last 2s" or "up to 5s ahead", if
// there are many times in them: one in each, and in each part of a large object. It returns "" if
// not.
func (t *Times) Window(q *TimesQuery) string {
	const part = 1 << 10
	many := func(s *stretch) bool { return s.found > 0 && s.found >= t.objects && s.found*part >= t.bytes }
	now := q.now.Unix()
	if many(&t.recent) {
		return "of the last " + seconds(now-t.recent.first+1)
	}
	all := t.ahead
	if t.recent.found > 0 {
		all.found, all.first = all.found+t.recent.found, t.recent.first
	}
	if t.ahead.found > 0 && many(&all) && all.last-all.first <= now-q.Since.Unix() {
		return "up to " + seconds(all.last-now) + " ahead"
	}
	return ""
}

func seconds(n int64) string { return (time.Duration(n) * time.Second).String() }

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
