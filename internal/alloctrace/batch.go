package alloctrace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// errShort says that a trace is truncated.
var errShort = errors.New("the trace is not whole: it ends where more was to come")

// A reader reads numbers from bytes. After an error it returns only zeros.
type reader struct {
	left []byte
	err  error
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.left)
	if size <= 0 {
		r.fail(errShort)
		return 0
	}
	r.left = r.left[size:]
	return n
}

func (r *reader) byte() byte {
	if len(r.left) == 0 {
		r.fail(errShort)
		return 0
	}
	b := r.left[0]
	r.left = r.left[1:]
	return b
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.left)) {
		r.fail(errShort)
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.left = nil
}

func (r *reader) more() bool { return len(r.left) > 0 }

// A batch is a piece of a trace that one thread wrote: its events are in order.
type batch struct {
	generation, thread, time uint64
	events                   []byte
}

// A typeID identifies a type in one generation of a trace.
type typeID struct{ generation, id uint64 }

// A rawType is a type as the trace has it.
type rawType struct {
	address, size uint64
	pointers      uint64 // its bytes up to the end of the last pointer
	name          string
}

// A partReader reads the parts of a trace, front to back. After an error it returns only zeros.
type partReader interface {
	more() bool
	byte() byte
	number() uint64
	bytes(n uint64) []byte
	fail(err error)
}

// A part is one of the pieces that follow the header of a trace: the events of a batch, or types.
type part struct {
	*batch // in a part of types, its events are types
	types  bool
}

// headerSize is the length of the header of a trace: "go 1.27 trace\x00\x00\x00".
const headerSize = 16

// checkHeader checks the beginning of a trace.
func checkHeader(header []byte) error {
	if len(header) < headerSize || !strings.HasPrefix(string(header), "go 1.") {
		return errors.New("this is no execution trace")
	}
	return nil
}

// eachPart calls f for the parts of a trace, after its header, that concern allocations. In a whole
// trace the end of a generation follows the last part (go1.26, go1.27: runtime/trace.go,
// readTrace0).
func eachPart(r partReader, f func(p part) error) {
	for ended := true; r.more() || !ended; {
		kind, experiment := r.byte(), byte(0)
		switch kind {
		case evEventBatch:
		case evExperimentalBatch:
			experiment = r.byte()
		case evEndOfGeneration:
			ended = true
			continue
		default:
			r.fail(fmt.Errorf("the trace has a part of an unknown kind, %d", kind))
			return
		}
		ended = false
		b := &batch{generation: r.number(), thread: r.number(), time: r.number()}
		b.events = r.bytes(r.number())
		if len(b.events) == 0 {
			continue
		}
		types := kind == evExperimentalBatch
		if types && (experiment != allocFree || b.events[0] != typesBatch) || !types && isTable(b.events[0]) {
			continue
		}
		if types {
			b.events = b.events[1:]
		}
		if err := f(part{b, types}); err != nil {
			r.fail(err)
			return
		}
	}
}

// split splits a trace into the batches of threads, in order of generation and time, and the types
// that events refer to.
func split(trace []byte) (batches []*batch, types map[typeID]rawType, err error) {
	if err := checkHeader(trace); err != nil {
		return nil, nil, err
	}
	types = make(map[typeID]rawType)
	r := &reader{left: trace[headerSize:]}
	eachPart(r, func(p part) error {
		if p.types {
			return readTypes(p.events, p.generation, types)
		}
		batches = append(batches, p.batch)
		return nil
	})
	sort.SliceStable(batches, func(i, j int) bool { // package slices adds code for pointers alone
		a, b := batches[i], batches[j]
		return cmp.Or(cmp.Compare(a.generation, b.generation), cmp.Compare(a.time, b.time)) < 0
	})
	return batches, types, r.err
}

// isTable reports whether a batch with this first byte is a table, without events of a thread.
func isTable(first byte) bool {
	switch first {
	case evStacks, evStrings, evCPUSamples, evFrequency, evSync:
		return true
	}
	return false
}

func readTypes(data []byte, generation uint64, types map[typeID]rawType) error {
	r := &reader{left: data}
	for r.more() {
		id := r.number()
		t := rawType{address: r.number(), size: r.number()}
		t.pointers = r.number()
		t.name = string(r.bytes(r.number()))
		types[typeID{generation, id}] = t
	}
	return r.err
}

// An event is an event of a thread, with its arguments; the first argument is the time since the
// previous event.
type event struct {
	kind      byte
	arguments [maxArguments]uint64
}

// each calls f for the events of a batch.
func (b *batch) each(f func(*event)) error {
	var e event
	for left := b.events; len(left) > 0; {
		e.kind, left = left[0], left[1:]
		n, known := arguments(e.kind)
		if !known {
			return fmt.Errorf("the trace has an event of an unknown kind, %d", e.kind)
		}
		for i := range n {
			if len(left) > 0 && left[0] < 0x80 { // most are short
				e.arguments[i], left = uint64(left[0]), left[1:]
				continue
			}
			value, size := binary.Uvarint(left)
			if size <= 0 {
				return errShort
			}
			e.arguments[i], left = value, left[size:]
		}
		f(&e)
	}
	return nil
}
