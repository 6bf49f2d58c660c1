package observe

import (
	"encoding/binary"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/symbol"
)

// A ContentQuery asks for numbers in the objects at some paths of a folded report: times that are
// not before Since, and descriptors.
type ContentQuery struct {
	Since   time.Time
	Times   []Times
	Handles []Handles
	now     time.Time
	Arrays  bool // read large arrays without pointers, too, which a copy in place does not have
}

// Handles are the descriptors in the objects at a path below a root of goroutines that were started
// at a place.
type Handles struct {
	path, createdAt string
	offsets         []uintptr
	Numbers         []int
}

// AddTimes adds a path.
func (q *ContentQuery) AddTimes(place, path, of string) {
	q.Times = append(q.Times, Times{Place: place, path: path, Of: of})
}

// AddHandles adds a path to objects that have descriptors at some offsets.
func (q *ContentQuery) AddHandles(path, createdAt string, offsets []uintptr) {
	q.Handles = append(q.Handles, Handles{path: path, createdAt: createdAt, offsets: offsets})
}

// OrNil returns nil for a query that asks nothing.
func (q *ContentQuery) OrNil() *ContentQuery {
	if q.Times == nil && q.Handles == nil {
		return nil
	}
	return q
}

// asked is what is asked of a node.
type asked struct {
	times   *Times
	handles *Handles
}

func (q *ContentQuery) of(path, createdAt string) (a asked) {
	for i := range q.Times {
		if a.times == nil && q.Times[i].path == path {
			a.times = &q.Times[i]
		}
	}
	for i := range q.Handles {
		if h := &q.Handles[i]; h.path == path && h.createdAt == createdAt {
			a.handles = h
		}
	}
	return a
}

// mostAhead is how far ahead a time may be at which an entry expires, in seconds.
const mostAhead = 24 * 60 * 60

// maxTimesRead bounds how many bytes of the objects at a path are read for times.
const maxTimesRead = 1 << 20

// ReadContent answers a query. It takes as long as half a scan.
func (s Process) ReadContent(q *ContentQuery) (err error) {
	defer snapshot.Guard(&err)()
	in := (*snapshot.Snapshot)(s.Snapshot)
	heap, err := in.Heap()
	if err != nil {
		return err
	}
	q.now = time.Now()
	known := make(map[*attribute.Node]asked)
	paths := make(attribute.Paths)
	attribute.Run(heap, in.Program(), attribute.Options{Watch: &attribute.Watcher{Charge: func(n *attribute.Node, c attribute.Claim) {
		a, ok := known[n]
		if !ok {
			createdAt := ""
			if r := n.Top().Root; r != nil {
				createdAt = r.CreatedAt
			}
			a = q.of(symbol.Unescape(paths.Of(n)), createdAt)
			known[n] = a
		}
		if a.handles == nil && (a.times == nil || a.times.bytes >= maxTimesRead) || c.Kind > attribute.KindObject {
			return
		}
		span := heap.Model.SpanOf(c.Obj)
		mem, addr := heaptype.Payload(span, c.Obj)
		if size := min(span.ElemSize, maxTimesRead); mem == nil && heap.Model.Mem.Try(addr, size) { // without pointers
			mem = heap.Model.Mem.Bytes(addr, size)
		}
		if a.handles != nil {
			a.handles.read(mem)
		}
		if a.times != nil {
			a.times.read(mem, c.Objects, q)
		}
	}}})
	return nil
}

// read adds the descriptors of an object.
func (h *Handles) read(mem []byte) {
	for _, off := range h.offsets {
		if uintptr(len(mem)) >= off+8 {
			h.Numbers = append(h.Numbers, int(binary.LittleEndian.Uint64(mem[off:])))
		}
	}
}

// read adds the times in the memory of so many objects.
func (t *Times) read(mem []byte, objects int64, q *ContentQuery) {
	t.objects += objects
	t.bytes += int64(len(mem))
	mem = mem[:min(len(mem), maxTimesRead)]
	t.recent.find(mem, q.Since.Unix(), q.now.Unix())
	t.ahead.find(mem, q.now.Unix()+1, q.now.Unix()+mostAhead)
}
