package gcwatch

import "github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"

// Counters are the addresses of the counters of the collector in a process.
type Counters struct{ at rtlayout.Counters }

// FindCounters finds the counters by debug information.
func FindCounters(l *rtlayout.Lookup) (*Counters, error) {
	c := &Counters{}
	l.Fill(&c.at)
	return c, l.Err()
}

// A Memory reads a word of 4 or 8 bytes.
type Memory interface {
	Word(addr uint64, size int) (uint64, error)
}

// A Marking is what the counters say of a garbage collection.
type Marking struct {
	Number uint32 // number of collections that have ended in the process, from 1; it restarts after 2^32
	// Marked is how many bytes the mark phase found alive, by size class, including all objects
	// that were allocated while it marked, garbage or not. Before the first collection it is the
	// runtime's initial value.
	Marked int64
	// Allocated is how many bytes were allocated while it marked, apart from memory that processors
	// had taken from the heap and not used yet: 0 if a call of runtime.ReadMemStats has given more
	// of that back. It is -1 if it is unknown, because the next collection has begun.
	Allocated int64
}

// Last returns the collection that ended last, in some eight reads. It allocates nothing. If the
// world is stopped at this moment for the end of a collection, Last may return that collection's
// size with the number of the one before. Errors are those of the memory.
func (c *Counters) Last(m Memory) (Marking, error) {
	r := words{m: m}
	for {
		last := Marking{Number: uint32(r.word(c.at.Number, 4)), Marked: int64(r.word(c.at.Marked, 8)), Allocated: -1}
		before, after := int64(r.word(c.at.Before, 8)), int64(r.word(c.at.After, 8))
		if r.word(c.at.Starting, 4) != 0 && uint32(r.word(c.at.Begun, 4)) == last.Number {
			last.Allocated = max(0, after-before)
		}
		if r.err != nil || uint32(r.word(c.at.Number, 4)) == last.Number {
			return last, r.err
		}
	}
}

// Least is how many bytes were alive without the objects that were allocated while the collection
// marked; it is Marked if that is unknown.
func (c Marking) Least() (bytes int64, known bool) {
	if c.Allocated < 0 {
		return c.Marked, false
	}
	return max(0, c.Marked-c.Allocated), true
}

// Swept is how many collections have ended, modulo 2^31, as goruntime.Model.Cycles counts them.
func (c *Counters) Swept(m Memory) (uint32, error) {
	generation, err := m.Word(c.at.Sweepgen, 4)
	return uint32(generation) / 2, err
}

// words reads words and keeps the first error.
type words struct {
	m   Memory
	err error
}

func (r *words) word(addr uint64, size int) uint64 {
	if r.err != nil {
		return 0
	}
	var v uint64
	v, r.err = r.m.Word(addr, size)
	return v
}
