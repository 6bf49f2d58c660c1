package alloctrace

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Totals are all allocations of a trace.
type Totals struct {
	Counts  []*Count // by type and size, the most objects first
	Objects int64
	// UnsizedObjects are those whose pages held objects of several sizes in the course of the trace:
	// they count with the size that the order of events tells.
	UnsizedObjects int64
}

// maxGeneration bounds what one generation of a trace may be, about a second of a program, in bytes.
const maxGeneration = 1 << 30

// ReadTotals counts all allocations of a trace while it is being written: it holds two generations of
// it, about two seconds, in memory. classes are as for Read. Where the trace ends in the midst of an
// event, as that of a program that was killed does, there is an error.
func ReadTotals(trace io.Reader, classes []int64) (*Totals, error) {
	t := &totaler{in: bufio.NewReaderSize(trace, 1<<20), classes: classes, pages: make(map[uint64][]timedSpan), of: make(map[countKey]*Count)}
	if err := t.read(); err != nil {
		return nil, err
	}
	if t.sum.Objects == 0 {
		return nil, ErrNoEvents
	}
	for _, n := range t.of {
		t.sum.Counts = append(t.sum.Counts, n)
	}
	slices.SortFunc(t.sum.Counts, func(a, b *Count) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return &t.sum, nil
}

// A timedSpan is a span of the heap and when it came to be; 0: before the trace.
type timedSpan struct {
	span
	first uint64 // its first page
	time  uint64
}

type totaler struct {
	in      *bufio.Reader
	classes []int64
	pages   map[uint64][]timedSpan // by page; of large objects the first page only
	of      map[countKey]*Count
	sum     Totals

	reading *generation
	// The generation before, whose spans are known. Its objects are counted when those of the next
	// are, too: threads do not pass from one to the next together, and an object may lie in a span
	// that a thread ahead of its own has made.
	pending *generation
}

// A generation is a part of a trace, with numbers of types of its own.
type generation struct {
	number  uint64
	size    uint64 // in bytes
	batches []*batch
	types   map[typeID]rawType
}

func newGeneration(number uint64) *generation {
	return &generation{number: number, types: make(map[typeID]rawType)}
}

func (t *totaler) read() error {
	header := make([]byte, len("go 1.2N trace\x00\x00\x00"))
	if _, err := io.ReadFull(t.in, header); err != nil || !strings.HasPrefix(string(header), "go 1.") {
		return errors.New("this is no execution trace")
	}
	t.reading, t.pending = newGeneration(0), newGeneration(0)
	for {
		kind, err := t.in.ReadByte()
		if err == io.EOF {
			if err := t.endGeneration(0); err != nil {
				return err
			}
			return t.endGeneration(0)
		}
		if err != nil {
			return err
		}
		switch kind {
		case evEventBatch, evExperimentalBatch:
			if err := t.part(kind); err != nil {
				return err
			}
		case evEndOfGeneration:
		default:
			return fmt.Errorf("the trace has a part of an unknown kind, %d", kind)
		}
	}
}

// part reads a batch. The parts of a generation follow each other (go1.26, go1.27:
// runtime/trace.go, readTrace0).
func (t *totaler) part(kind byte) error {
	var experiment byte
	if kind == evExperimentalBatch {
		var err error
		if experiment, err = t.in.ReadByte(); err != nil {
			return errShort
		}
	}
	var head [4]uint64 // generation, thread, time, length
	for i := range head {
		n, err := readNumber(t.in)
		if err != nil {
			return err
		}
		head[i] = n
	}
	if head[0] != t.reading.number {
		if err := t.endGeneration(head[0]); err != nil {
			return err
		}
	}
	g := t.reading
	if g.size += head[3]; head[3] > maxGeneration || g.size > maxGeneration {
		return errors.New("the trace has more than 1 GiB for one second")
	}
	data := make([]byte, head[3])
	if _, err := io.ReadFull(t.in, data); err != nil {
		return errShort
	}
	switch {
	case len(data) == 0:
	case kind == evEventBatch && !isTable(data[0]):
		g.batches = append(g.batches, &batch{generation: head[0], thread: head[1], time: head[2], events: data})
	case kind == evExperimentalBatch && experiment == allocFree && data[0] == typesBatch:
		return readTypes(data[1:], head[0], g.types)
	}
	return nil
}

// readNumber reads a number of a trace, of 10 bytes at most.
func readNumber(in io.ByteReader) (n uint64, err error) {
	for shift := 0; shift < 70; shift += 7 {
		b, err := in.ReadByte()
		if err != nil {
			return 0, errShort
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, errors.New("the trace has a number that is too long")
}

// endGeneration notes the spans of the generation that has been read, counts the objects of the one
// before, and begins another.
func (t *totaler) endGeneration(next uint64) error {
	for _, b := range t.reading.batches {
		now := b.time
		err := b.each(func(e *event) {
			now += e.arguments[0]
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
	}
	for _, b := range t.pending.batches {
		now := b.time
		err := b.each(func(e *event) {
			now += e.arguments[0]
			if e.kind == evObjectAlloc {
				t.allocation(e, t.pending.types[typeID{b.generation, e.arguments[2]}], now)
			}
		})
		if err != nil {
			return err
		}
	}
	t.pending, t.reading = t.reading, newGeneration(next)
	return nil
}

func (t *totaler) addSpan(e *event, time uint64) {
	spanClass := e.arguments[3] // as in spans.add
	if spanClass&1 != 0 {
		return
	}
	n := timedSpan{span{pages: e.arguments[2], class: int(spanClass >> 2), noscan: spanClass>>1&1 == 1}, e.arguments[1], time}
	pages := n.pages
	if n.class == 0 {
		pages = 1 // the object begins there
	}
	for page := e.arguments[1]; page < e.arguments[1]+min(pages, maxPages); page++ {
		known := t.pages[page]
		if len(known) > 0 && known[len(known)-1].span == n.span && known[len(known)-1].first == n.first && known[len(known)-1].time <= time {
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
	key := countKey{uintptr(typ.address), size}
	n := t.of[key]
	if n == nil {
		n = &Count{Type: key.address, Name: typ.name, TypeSize: int64(typ.size), Size: size}
		t.of[key] = n
	}
	n.Objects++
}

// slack is how much later than an object the event of its span may be, in units of the trace's
// clock, of which one is 10 to 100 ns: a thread that writes events quickly gives each a later time,
// and so gets ahead of others.
const slack = 1 << 16

// sizeOf returns how much an object takes, by the spans that its page was ever in and that can hold
// its type: if these are of one size, that is it, otherwise that of the last one before the object,
// or of one that fits its type exactly and came to be just then.
func (t *totaler) sizeOf(e *event, typ rawType, now uint64) (size int64, sure bool) {
	sure = true
	var found timedSpan
	for _, n := range t.pages[e.arguments[1]*minAlign/pageSize] {
		s := t.sizeIn(n, e.arguments[1]*minAlign, typ)
		if s == 0 {
			continue
		}
		if size != 0 && s != size {
			sure = false
		}
		before := n.time <= now || n.time <= now+slack && s == t.classOf(typ.size)
		if size == 0 || before && n.time >= found.time {
			found, size = n, s
		}
	}
	if size == 0 {
		return int64(typ.size), false
	}
	return size, sure
}

// sizeIn returns what an object of a type takes in a span, or 0 if it cannot lie there.
func (t *totaler) sizeIn(n timedSpan, address uint64, typ rawType) int64 {
	offset := int64(address - n.first*pageSize)
	// go1.26, go1.27 runtime/mbitmap.go: heapBitsInSpan, and the header of larger objects.
	const mostWithoutHeader, header = 512, 8
	switch {
	case n.noscan != (typ.pointers == 0) || n.class >= len(t.classes):
		return 0
	case n.class == 0:
		return int64(n.pages) * pageSize
	}
	size := t.classes[n.class]
	if size > mostWithoutHeader && !n.noscan {
		offset -= header
	}
	switch {
	case n.class == tinyClass && n.noscan && int64(typ.size) < size:
		if typ.size > 0 {
			return int64(typ.size)
		}
		return size
	case int64(typ.size) > size || offset%size != 0:
		return 0
	}
	return size
}

// classOf is the size class of one object of so many bytes, or 0 for a large one.
func (t *totaler) classOf(size uint64) int64 {
	i, _ := slices.BinarySearch(t.classes, int64(size))
	if i == len(t.classes) {
		return 0
	}
	return t.classes[i]
}
