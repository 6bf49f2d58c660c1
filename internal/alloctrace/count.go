package alloctrace

import (
	"cmp"
	"errors"
	"maps"
	"slices"
)

// Marks are the addresses of two types. The goroutine whose allocations are counted allocates an
// object of the first type before them, and one of the second type after. Nothing else allocates
// any.
type Marks struct{ Begin, End uintptr }

// A Count counts the objects of one type and size.
type Count struct {
	// Type is the address of the type's descriptor in the program, and Name its name in reflect; 0
	// and "" for memory whose type the runtime is not given: strings, and what append and the like
	// allocate for elements without pointers.
	Type uintptr
	Name string
	// TypeSize is the size of the type, Size the bytes that one object takes: its size class.
	// Objects below 16 bytes without pointers share blocks; these have their own size here, or 16
	// bytes if that is not known. A Size beyond the class of TypeSize is that of an array.
	TypeSize, Size int64
	// Unsized says that Size is not known, but is TypeSize at least: an object of the type, or an
	// array.
	Unsized bool
	Objects int64
}

// Bytes are what the objects take together.
func (c *Count) Bytes() int64 { return c.Size * c.Objects }

// Counts are the allocations between two marks.
type Counts struct {
	// Own are the allocations of the goroutine with the marks, between these, and all those of
	// goroutines that it started there, or that these started: by type and size, the most first.
	Own []*Count
	// OtherObjects counts all other objects of the trace.
	OtherObjects int64
	// UnsizedObjects counts the objects of Own whose size is not known.
	UnsizedObjects int64
	// Saved are the bytes by which the objects of Own take less than their sizes together, since
	// small ones share blocks. It is negative if the blocks have gaps, and 0 if a collection freed
	// objects during the trace: their memory was used again.
	Saved int64
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
	s := &survey{types: types, marks: marks, births: make(map[uint64]threadState), spans: spans{pages: make(map[uint64][]placed)}}
	running, err := runsAtFirst(batches)
	if err != nil {
		return nil, err
	}
	if err := s.make(batches, maps.Clone(running)); err != nil {
		return nil, err
	}
	c := &counter{
		survey: s, classes: classes, of: make(map[countKey]*Count), own: make(map[uint64]bool), lastSpan: make(map[uint64]placed), blocks: make(blocks),
	}
	return c.count(batches, running)
}

// A survey has the data of the whole trace that is needed before allocations are counted.
type survey struct {
	types      map[typeID]rawType
	marks      Marks
	births     map[uint64]threadState // by goroutine: the run that started it
	spans      spans
	begin, end threadState // where the marks were allocated
	freed      bool        // objects were freed
	known      [256]knownType
}

func (s *survey) make(batches []*batch, running threadStates) error {
	begins, ends := 0, 0
	for _, b := range batches {
		err := running.each(b, func(e *event, on threadState) {
			switch e.kind {
			case evSpan, evSpanAlloc:
				s.spans.add(e)
			case evObjectFree:
				s.freed = true
			case evObjectAlloc:
				switch uintptr(s.typeOf(b, e).address) {
				case 0:
				case s.marks.Begin:
					begins++
					s.begin = on
				case s.marks.End:
					ends++
					s.end = on
				}
			}
			if g := born(e); g != 0 {
				s.births[g] = on
			}
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

func (s *survey) typeOf(b *batch, e *event) *rawType {
	// The numbers of types are small, and few types make up most events.
	id := typeID{b.generation, e.arguments[2]}
	known := &s.known[id.id%uint64(len(s.known))]
	if known.id != id || !known.asked {
		*known = knownType{id, s.types[id], true}
	}
	return &known.rawType
}

// A knownType is a type in the cache of typeOf.
type knownType struct {
	id typeID
	rawType
	asked bool
}

type countKey struct {
	address uintptr
	size    int64
	unsized bool
}

type counter struct {
	*survey
	classes    []int64
	of         map[countKey]*Count
	current    *Count // the last one, of currentKey
	currentKey countKey
	own        map[uint64]bool   // by goroutine: results of isOwn
	lastSpan   map[uint64]placed // by thread: the last span that it made
	blocks     blocks            // of small objects that count
	sum        Counts
}

func (c *counter) count(batches []*batch, running threadStates) (*Counts, error) {
	for _, b := range batches {
		err := running.each(b, func(e *event, on threadState) {
			switch e.kind {
			case evSpanAlloc:
				if n, ok := spanOf(e); ok {
					c.lastSpan[b.thread] = placed{n, e.arguments[1]}
				}
			case evObjectAlloc:
				c.allocation(b, e, on)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, n := range c.of {
		c.sum.Own = append(c.sum.Own, n)
	}
	sortCounts(c.sum.Own)
	return &c.sum, nil
}

// sortCounts sorts counts, most objects first.
func sortCounts(all []*Count) {
	slices.SortFunc(all, func(a, b *Count) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
}

// allocation counts an allocation of a thread. A thread that runs no goroutine, or has run none so
// far, allocates for the runtime alone, such as a record of another thread that it starts: the
// first event of a goroutine that is already running reports the goroutine (go1.26, go1.27:
// runtime/traceevent.go, eventWriter).
func (c *counter) allocation(b *batch, e *event, on threadState) {
	t := c.typeOf(b, e)
	address := uintptr(t.address)
	switch {
	case address != 0 && (address == c.marks.Begin || address == c.marks.End):
		return
	case !c.counts(on):
		c.sum.OtherObjects++
		return
	}
	size, sized := c.size(b, e, t)
	if !sized {
		c.sum.UnsizedObjects++
	}
	key := countKey{address, size, !sized}
	if c.current == nil || c.currentKey != key {
		n := c.of[key]
		if n == nil {
			n = &Count{Type: address, Name: t.name, TypeSize: int64(t.size), Size: size, Unsized: !sized}
			c.of[key] = n
		}
		c.current, c.currentKey = n, key
	}
	c.current.Objects++
	if sized && size <= BlockSize && t.pointers == 0 && !c.freed {
		c.sum.Saved += size
		if c.blocks.add(e.arguments[1]) {
			c.sum.Saved -= BlockSize
		}
	}
}

// counts reports whether the events of a run count: its goroutine is the one with the marks,
// between these, or one that was started there.
func (c *counter) counts(on threadState) bool {
	if on.goroutine == c.begin.goroutine {
		return c.begin.at.compare(on.at) <= 0 && on.at.compare(c.end.at) <= 0
	}
	return c.isOwn(on.goroutine)
}

// isOwn reports whether a goroutine descends from one that was started between the marks.
func (c *counter) isOwn(g uint64) bool {
	var line []uint64 // g and its ancestors; all have the same result
	own := false
	for g != 0 {
		known, asked := c.own[g]
		if asked {
			own = known
			break
		}
		line = append(line, g)
		parent, seen := c.births[g]
		if !seen {
			break
		}
		if parent.goroutine == c.begin.goroutine {
			own = c.counts(parent)
			break
		}
		g = parent.goroutine
	}
	for _, g := range line {
		c.own[g] = own
	}
	return own
}

// size returns the size of an object, and whether it is sure.
func (c *counter) size(b *batch, e *event, t *rawType) (size int64, sure bool) {
	if last, ok := c.lastSpan[b.thread]; ok && last.class == 0 && last.first*pageSize == e.arguments[1]*minAlign {
		// A large object has a span of its own, which its thread has made just before (go1.26,
		// go1.27: runtime/malloc.go, mallocgcLarge).
		if size := last.sizeOf(0, t, c.classes); size != 0 {
			return size, true
		}
	}
	if size, sure = c.spans.at(e.arguments[1], t, c.classes); !sure {
		return int64(t.size), false
	}
	return size, true
}
