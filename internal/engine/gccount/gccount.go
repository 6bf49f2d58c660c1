// Package gccount reads what the garbage collector of a running program has counted, where the
// runtime keeps it: of this process, or of another one. Nothing is stopped.
package gccount

import "github.com/leakgate/leakgate/internal/engine/rtlayout"

// Counters are where the runtime of a process has its counters. All are addresses (go1.26 and go1.27
// runtime/mgc.go, mgcpacer.go, mstats.go).
type Counters struct {
	number        uint64 // memstats.numgc: collections that have ended
	marked        uint64 // gcController.heapMarked: how many bytes the last one found alive
	sweep         uint64 // mheap_.sweepgen: 2 more with each
	begun         uint64 // work.cycles: collections that have begun
	starting      uint64 // work.startSema: 0 while one is about to begin
	before, after uint64 // work.heap0, heap1: the heap when marking began, and when it ended
}

// Find finds the counters by debug information.
func Find(l *rtlayout.Lookup) (*Counters, error) {
	const work, workType = "runtime.work", "runtime.workType"
	at := func(variable, typ, field string) uint64 { return l.Variable(variable).Addr + l.Offset(typ, field) }
	c := &Counters{
		number:   at("runtime.memstats", "runtime.mstats", "numgc"),
		marked:   at("runtime.gcController", "runtime.gcControllerState", "heapMarked"),
		sweep:    at("runtime.mheap_", "runtime.mheap", "sweepgen"),
		begun:    at(work, workType, "cycles"),
		starting: at(work, workType, "startSema"),
		before:   at(work, workType, "heap0"),
		after:    at(work, workType, "heap1"),
	}
	return c, l.Err()
}

// A Memory reads a word of 4 or 8 bytes.
type Memory interface {
	Word(addr uint64, size int) (uint64, error)
}

// A Cycle is a garbage collection.
type Cycle struct {
	Number uint32 // of those that have ended in the process, from 1; it begins anew after 2^32
	// Marked is how many bytes its mark phase found alive, by size class, with what was allocated
	// while it marked, garbage or not. Before the first one it is what the runtime begins with.
	Marked int64
	// Allocated is how many bytes were allocated while it marked, up to what processors had taken
	// from the heap and not used. It is -1 where that is not known any more: the next one has begun.
	Allocated int64
}

// Last is the collection that ended last, in some eight reads. It allocates nothing. Where the world
// stands still at this moment for the end of a collection, that may have its size beside the number
// of the one before. Errors are those of the memory.
func (c *Counters) Last(m Memory) (Cycle, error) {
	r := reader{m: m}
	for {
		cycle := Cycle{Number: uint32(r.word(c.number, 4)), Marked: int64(r.word(c.marked, 8)), Allocated: -1}
		before, after := int64(r.word(c.before, 8)), int64(r.word(c.after, 8))
		if r.word(c.starting, 4) != 0 && uint32(r.word(c.begun, 4)) == cycle.Number && after >= before {
			cycle.Allocated = after - before
		}
		if r.err != nil || uint32(r.word(c.number, 4)) == cycle.Number {
			return cycle, r.err
		}
	}
}

// Least is how much was alive without what was allocated while the collection marked, and Marked
// where that is not known.
func (c Cycle) Least() (bytes int64, known bool) {
	if c.Allocated < 0 {
		return c.Marked, false
	}
	return max(0, c.Marked-c.Allocated), true
}

// Swept is how many collections have ended, modulo 2^31, as goruntime.Model.Cycles counts them.
func (c *Counters) Swept(m Memory) (uint32, error) {
	generation, err := m.Word(c.sweep, 4)
	return uint32(generation) / 2, err
}

// A reader keeps the first error.
type reader struct {
	m   Memory
	err error
}

func (r *reader) word(addr uint64, size int) uint64 {
	if r.err != nil {
		return 0
	}
	var v uint64
	v, r.err = r.m.Word(addr, size)
	return v
}
