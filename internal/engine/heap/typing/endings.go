package typing

import (
	"encoding/binary"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
)

// An ending is a test of an object's memory that tells whether its use is over.
type ending struct {
	off   uint64
	how   endingTest
	state string // the state, as in messages
}

type endingTest uint8

const (
	neverEnds endingTest = iota
	wordSet              // the word is not 0
	wordZero             // the word is 0
	bitSet               // the word's lowest bit is set
	byteSet              // the byte is not 0
	halfSet              // the 32-bit word is not 0
)

// endingFields are fields of the standard library's types, the same in go1.26 and go1.27:
// context/context.go (cancelCtx.err, whose first word is the error's type),
// internal/poll/fd_mutex.go (mutexClosed), runtime/time.go (timer.when is 0 when stopped, or
// expired and not periodic; a time.Timer is the beginning of a timeTimer), net/http/transfer.go and
// transport.go.
var endingFields = []struct {
	name       string // of the type
	typ, field string // "" for typ: the type itself
	how        endingTest
	state      string
}{
	{"context.cancelCtx", "", "err", wordSet, "done"},
	{"context.timerCtx", "", "cancelCtx.err", wordSet, "done"},
	{"context.afterFuncCtx", "", "cancelCtx.err", wordSet, "done"},
	{"os.file", "", "pfd.fdmu.state", bitSet, "closed"},
	{"net.netFD", "", "pfd.fdmu.state", bitSet, "closed"},
	{"net/http.body", "", "closed", byteSet, "closed"},
	{"net/http.bodyEOFSignal", "", "closed", byteSet, "closed"},
	{"net/http.persistConn", "", "closed", wordSet, "closed"},
	{"time.Timer", "runtime.timeTimer", "timer.when", wordZero, "stopped or expired"},
	{"time.Ticker", "runtime.timeTimer", "timer.when", wordZero, "stopped"},
	{"runtime.timeTimer", "", "timer.when", wordZero, "stopped or expired"},
	{"database/sql.driverConn", "", "closed", byteSet, "closed"},
}

// endingOf returns the ending of the type with a name; the zero ending if none is known.
func endingOf(m *goruntime.Model, name string) ending {
	for _, e := range endingFields {
		if e.name != name {
			continue
		}
		if e.typ == "" {
			e.typ = name
		}
		if off, ok := m.Fields().Maybe(e.typ, e.field); ok {
			return ending{off, e.how, e.state}
		}
	}
	return ending{}
}

// Endings tell which objects are no longer in use. They are not safe for concurrent use.
type Endings struct {
	types   *heaptype.Table
	channel ending
	byType  []ending // by the index of the type
	known   []bool   // which of them are filled in
}

// NewEndings returns the endings of objects of these types.
func NewEndings(types *heaptype.Table) *Endings {
	e := &Endings{types: types}
	if off, ok := types.Model.Fields().Maybe("runtime.hchan", "closed"); ok {
		e.channel = ending{off, halfSet, "closed"}
	}
	return e
}

// Ends reports whether the memory of objects of a typing tells if they are in use.
func (e *Endings) Ends(ty Typing) bool { return e.ending(ty).how != neverEnds }

// ending returns the test that tells whether the use of an object of a typing is over.
func (e *Endings) ending(ty Typing) ending {
	if ty.Layout == heaptype.LayoutChan {
		return e.channel
	}
	if ty.Type == 0 || ty.Layout != heaptype.LayoutValue && ty.Layout != heaptype.LayoutBoxed || ty.Offset != 0 {
		return ending{}
	}
	if grow := int(ty.Type) + 1 - len(e.byType); grow > 0 {
		e.byType, e.known = append(e.byType, make([]ending, grow)...), append(e.known, make([]bool, grow)...)
	}
	if !e.known[ty.Type] {
		e.byType[ty.Type], e.known[ty.Type] = endingOf(e.types.Model, e.types.At(ty.Type).Name), true
	}
	return e.byType[ty.Type]
}

// Of reports whether the use of an object is over, and its state then. Objects without pointers are
// not in the image, and count as in use unless fetch is set.
//
//go:norace
func (e *Endings) Of(obj uint32, ty Typing, fetch bool) (state string, over bool) {
	end := e.ending(ty)
	if end.how == neverEnds {
		return "", false
	}
	m := e.types.Model
	s := m.SpanOf(obj)
	mem, addr := heaptype.Payload(s, obj)
	var field [8]byte
	switch {
	case end.off+8 <= uint64(len(mem)):
		copy(field[:], mem[end.off:])
	case mem == nil && fetch && end.off+8 <= s.ElemSize && m.Mem.Try(addr+end.off, 8):
		binary.LittleEndian.PutUint64(field[:], m.Mem.U64(addr+end.off))
	default:
		return "", false
	}
	word := binary.LittleEndian.Uint64(field[:])
	switch end.how {
	case wordSet:
		over = word != 0
	case wordZero:
		over = word == 0
	case bitSet:
		over = word&1 != 0
	case byteSet:
		over = word&0xff != 0
	case halfSet:
		over = word&0xffffffff != 0
	}
	return end.state, over
}
