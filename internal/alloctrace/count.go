package alloctrace

import (
	"cmp"
	"errors"
	"slices"
)

// Marks are the addresses of two types. The goroutine whose allocations are counted allocates an
// object of the first type before, and one of the second after. Nothing else allocates any.
type Marks struct{ Begin, End uintptr }

// A Count is the objects of one type and size.
type Count struct {
	// Type is the address of the type's descriptor in the program, and Name what reflect calls it;
	// 0 and "" for memory that the runtime is not told the type of: strings, and what append and
	// the like allocate for elements without pointers.
	Type uintptr
	Name string
	// TypeSize is the size of the type, Size the bytes that one object takes: its size class, but
	// for objects below 16 bytes without pointers, which share blocks. These take their own size,
	// or 16 bytes if that is not known. A Size beyond the class of TypeSize is that of an array.
	TypeSize, Size int64
	Objects        int64
}

// Bytes are what the objects take together.
func (c *Count) Bytes() int64 { return c.Size * c.Objects }

// Counts are the allocations between two marks.
type Counts struct {
	// Own are those of the goroutine with the marks, and of goroutines that it started between the
	// marks, or that these started: by type and size, the most first.
	Own []*Count
	// OtherObjects are those that all other goroutines and the scheduler made meanwhile.
	OtherObjects int64
	// UnsizedObjects are those of Own of which the size is not known: they count with the size of
	// their type.
	UnsizedObjects int64
}

// ErrNoEvents says that a trace has no allocations.
var ErrNoEvents = errors.New("the trace has no allocations")

// Read counts the allocations of a trace between two marks. classes are the sizes of the program's
// size classes, in order; the first stands for large objects. It takes about 0.5 us for each event,
// and memory for the trace's types, goroutines and spans.
func Read(trace []byte, marks Marks, classes []int64) (*Counts, error) {
	batches, types, err := split(trace)
	if err != nil {
		return nil, err
	}
	s := &survey{types: types, marks: marks, births: make(map[uint64]birth), spans: spans{first: make(map[uint64][]spanState)}}
	if err := s.make(batches); err != nil {
		return nil, err
	}
	c := &counter{survey: s, classes: classes, of: make(map[countKey]*Count), own: make(map[uint64]bool)}
	return c.count(batches)
}

// A survey is what has to be known of the whole trace before allocations are counted.
type survey struct {
	types      map[typeID]rawType
	marks      Marks
	births     map[uint64]birth // of goroutines
	spans      spans
	begin, end mark
}

// A mark is where and when one of Marks was allocated.
type mark struct{ goroutine, time uint64 }

func (s *survey) make(batches []*batch) error {
	begins, ends := 0, 0
	running := newGoroutines()
	for _, b := range batches {
		err := b.each(func(e *event) {
			on := running.on[b.thread]
			switch e.kind {
			case evSpan, evSpanAlloc, evSpanFree:
				s.spans.add(e)
			case evObjectAlloc:
				switch uintptr(s.typeOf(b, e).address) {
				case 0:
				case s.marks.Begin:
					begins++
					s.begin = mark{on, e.time}
				case s.marks.End:
					ends++
					s.end = mark{on, e.time}
				}
			}
			if g := born(e); g != 0 {
				s.births[g] = birth{on, e.time}
			}
			running.step(b.thread, e)
		})
		if err != nil {
			return err
		}
	}
	switch {
	case begins == 0 && ends == 0:
		return ErrNoEvents
	case begins != 1 || ends != 1 || s.begin.goroutine == 0 || s.begin.goroutine != s.end.goroutine:
		return errors.New("the trace does not say where the operation begins and ends")
	}
	return nil
}

func (s *survey) typeOf(b *batch, e *event) rawType {
	return s.types[typeID{b.generation, e.arguments[2]}]
}

type countKey struct {
	address uintptr
	size    int64
}

type counter struct {
	*survey
	classes []int64
	of      map[countKey]*Count
	own     map[uint64]bool // by goroutine, as far as it was asked
	sum     Counts
	lost    int64 // allocations of threads of which it is not known what they ran
}

func (c *counter) count(batches []*batch) (*Counts, error) {
	running := newGoroutines()
	for _, b := range batches {
		err := b.each(func(e *event) {
			if e.kind == evObjectAlloc && e.time >= c.begin.time && e.time <= c.end.time {
				on, known := running.on[b.thread]
				c.allocation(b, e, on, known)
			}
			running.step(b.thread, e)
		})
		if err != nil {
			return nil, err
		}
	}
	if c.lost > 0 {
		return nil, errors.New("the trace does not say which goroutine made some of the allocations")
	}
	for _, n := range c.of {
		c.sum.Own = append(c.sum.Own, n)
	}
	slices.SortFunc(c.sum.Own, func(a, b *Count) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return &c.sum, nil
}

func (c *counter) allocation(b *batch, e *event, on uint64, known bool) {
	t := c.typeOf(b, e)
	address := uintptr(t.address)
	switch {
	case !known:
		c.lost++
		return
	case address != 0 && (address == c.marks.Begin || address == c.marks.End):
		return
	case !c.isOwn(on):
		c.sum.OtherObjects++
		return
	}
	size, sized := c.size(e, t)
	if !sized {
		c.sum.UnsizedObjects++
	}
	key := countKey{address, size}
	n := c.of[key]
	if n == nil {
		n = &Count{Type: address, Name: t.name, TypeSize: int64(t.size), Size: size}
		c.of[key] = n
	}
	n.Objects++
}

// isOwn reports whether a goroutine has the marks, or comes from it and was born between them.
func (c *counter) isOwn(g uint64) bool {
	var line []uint64 // from g upwards, all alike
	own := false
	for g != 0 {
		known, asked := c.own[g]
		if asked {
			own = known
			break
		}
		line = append(line, g)
		if g == c.begin.goroutine {
			own = true
			break
		}
		b, seen := c.births[g]
		if !seen || b.time < c.begin.time || b.time > c.end.time {
			break
		}
		g = b.parent
	}
	for _, g := range line {
		c.own[g] = own
	}
	return own
}

// size returns how much an object takes, and whether that is sure.
func (c *counter) size(e *event, t rawType) (size int64, sure bool) {
	span, found := c.spans.at(e.arguments[1], e.time)
	switch {
	case !found || span.class >= len(c.classes):
		return int64(t.size), false
	case span.class == 0:
		return int64(span.pages) * pageSize, true
	case span.class == tinyClass && span.noscan && t.size > 0 && int64(t.size) < c.classes[tinyClass]:
		return int64(t.size), true
	case int64(t.size) > c.classes[span.class]:
		return int64(t.size), false
	}
	return c.classes[span.class], true
}
