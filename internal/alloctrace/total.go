package alloctrace

import (
	"bufio"
	"io"
)

// Totals counts all allocations of a trace.
type Totals struct {
	Counts  []*Count // by type and size, the most objects first
	Objects int64
	// UnsizedObjects counts objects whose pages held objects of several sizes during the trace:
	// their size is the one that the order of events suggests.
	UnsizedObjects int64
}

// ReadTotals counts all allocations of a trace while it is being written. It holds two generations
// of the trace, about two seconds, in memory. classes are as for Read. What the goroutine without
// allocates does not count; 0 is no goroutine. A trace that ends within a generation, such as that
// of a killed program, is an error.
func ReadTotals(trace io.Reader, classes []int64, without uint64) (*Totals, error) {
	t := &totaler{
		in: &stream{in: bufio.NewReaderSize(trace, 1<<20)}, classes: classes, without: without,
		pages: make(map[uint64][]timedSpan), of: make(map[countKey]*Count),
	}
	if without != 0 {
		t.running = make(threadStates)
	}
	if err := t.read(); err != nil {
		return nil, err
	}
	if !t.events {
		return nil, ErrNoEvents
	}
	for _, n := range t.of {
		t.sum.Counts = append(t.sum.Counts, n)
	}
	sortCounts(t.sum.Counts)
	return &t.sum, nil
}

// A timedSpan is a span of the heap and the time when it was made; 0: before the trace.
type timedSpan struct {
	placed
	time uint64
}

type totaler struct {
	in      *stream
	classes []int64
	without uint64
	running threadStates           // nil: all goroutines count
	events  bool                   // there was an allocation
	pages   map[uint64][]timedSpan // by page; spans of large objects by their first page only
	of      map[countKey]*Count
	sum     Totals

	reading *generation
	// The generation before, whose spans are known. Its objects are counted when the spans of the
	// next generation are known, too: threads do not enter a generation together, and an object may
	// lie in a span that another thread, which is ahead, has made.
	pending *generation
}

// A generation is a part of a trace with its own numbering of types.
type generation struct {
	number  uint64
	batches []*batch
	types   map[typeID]rawType
}

func newGeneration(number uint64) *generation {
	return &generation{number: number, types: make(map[typeID]rawType)}
}

func (t *totaler) read() error {
	header := make([]byte, headerSize)
	n, _ := io.ReadFull(t.in.in, header)
	if err := checkHeader(header[:n]); err != nil {
		return err
	}
	t.reading, t.pending = newGeneration(0), newGeneration(0)
	// The parts of a generation follow each other (go1.26, go1.27: runtime/trace.go, readTrace0).
	eachPart(t.in, func(p part) error {
		if p.generation != t.reading.number {
			if err := t.endGeneration(p.generation); err != nil {
				return err
			}
		}
		if p.types {
			return readTypes(p.events, p.generation, t.reading.types)
		}
		t.reading.batches = append(t.reading.batches, p.batch)
		return nil
	})
	if t.in.err != nil {
		return t.in.err
	}
	if err := t.endGeneration(0); err != nil {
		return err
	}
	return t.endGeneration(0)
}

// endGeneration notes the spans of the generation that was read, counts the objects of the one
// before, and begins the next.
func (t *totaler) endGeneration(next uint64) error {
	err := t.reading.each(nil, func(e *event, _ uint64, now uint64) {
		switch e.kind {
		case evSpan:
			t.addSpan(e, 0)
		case evSpanAlloc:
			t.addSpan(e, now)
		}
	})
	if err != nil {
		return err
	}
	done := t.pending
	err = done.each(t.running, func(e *event, goroutine, now uint64) {
		if e.kind != evObjectAlloc {
			return
		}
		t.events = true
		if goroutine == 0 || goroutine != t.without {
			t.allocation(e, done.types[typeID{done.number, e.arguments[2]}], now)
		}
	})
	t.pending, t.reading = t.reading, newGeneration(next)
	t.in.taken = 0
	return err
}

// each calls f for all events, with the goroutines that run, or 0 if running is nil, and the times.
func (g *generation) each(running threadStates, f func(e *event, goroutine, now uint64)) error {
	for _, b := range g.batches {
		now := b.time
		each := func(e *event, goroutine uint64) {
			now += e.arguments[0]
			f(e, goroutine, now)
		}
		var err error
		if running == nil {
			err = b.each(func(e *event) { each(e, 0) })
		} else {
			err = running.each(b, func(e *event, on threadState) { each(e, on.goroutine) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *totaler) addSpan(e *event, time uint64) {
	s, ok := spanOf(e)
	if !ok {
		return
	}
	n := timedSpan{placed{s, e.arguments[1]}, time}
	pages := n.pages
	if n.class == 0 {
		pages = 1 // the object begins there
	}
	for page := e.arguments[1]; page < e.arguments[1]+min(pages, maxPages); page++ {
		known := t.pages[page]
		if len(known) > 0 && known[len(known)-1].placed == n.placed && known[len(known)-1].time <= time {
			continue
		}
		t.pages[page] = append(known, n)
	}
}

func (t *totaler) allocation(e *event, typ rawType, now uint64) {
	size, sure := t.sizeOf(e, typ, now)
	t.sum.Objects++
	if !sure {
		t.sum.UnsizedObjects++
	}
	key := countKey{address: uintptr(typ.address), size: size}
	n := t.of[key]
	if n == nil {
		n = &Count{Type: key.address, Name: typ.name, TypeSize: int64(typ.size), Size: size}
		t.of[key] = n
	}
	n.Objects++
}

// slack is how much later than an object the event of its span may be, in units of the trace's
// clock of 10 to 100 ns each: a thread that writes events quickly gives each event a later time,
// and so gets ahead of other threads.
const slack = 1 << 16

// sizeOf returns the size of an object, by the spans that its page was ever in and that can hold
// its type. If all have one size, sure is true. Otherwise the size is that of the last span before
// the object, or of a span that fits its type exactly and was made just then.
func (t *totaler) sizeOf(e *event, typ rawType, now uint64) (size int64, sure bool) {
	sure = true
	var found timedSpan
	for _, n := range t.pages[e.arguments[1]*minAlign/pageSize] {
		s := n.sizeOf(e.arguments[1]*minAlign-n.first*pageSize, &typ, t.classes)
		if s == 0 {
			continue
		}
		if size != 0 && s != size {
			sure = false
		}
		before := n.time <= now || n.time <= now+slack && n.class != 0 && s == SizeOf(int64(typ.size), t.classes)
		if size == 0 || before && n.time >= found.time {
			found, size = n, s
		}
	}
	if size == 0 {
		return int64(typ.size), false
	}
	return size, sure
}
