package heapgraph

import (
	"encoding/binary"

	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// An ending tells from an object's memory that its use is over: what is still reachable then is suspect.
type ending struct {
	off   uint64
	how   endingTest
	state string // how messages say it
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

// endings are fields of the standard library's types, the same in go1.26 and go1.27: context/context.go
// (cancelCtx.err, whose first word is the error's type), internal/poll/fd_mutex.go (mutexClosed),
// runtime/time.go (timer.when is 0 when stopped, or expired and not periodic; a time.Timer is the beginning of a
// timeTimer), net/http/transfer.go and transport.go.
var endings = []struct {
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

// ending returns how an object of a typing ends.
func (g *Graph) ending(ty typing) ending {
	if ty.form == formChan {
		return g.types.chanEnd
	}
	if ty.form != formOne && ty.form != formBoxed || ty.off != 0 {
		return ending{}
	}
	return g.types.at(ty.typ).ending
}

// endingOf says how objects of the type with a name end.
func endingOf(m *goruntime.Model, name string) ending {
	for _, e := range endings {
		if e.name != name {
			continue
		}
		if e.typ == "" {
			e.typ = name
		}
		if off, err := m.FieldOffset(e.typ, e.field); err == nil {
			return ending{off, e.how, e.state}
		}
	}
	return ending{}
}

// ended reports whether the use of an object is over. Objects without pointers are not in the image, and count as
// in use unless fetch is set.
func (g *Graph) ended(obj uint32, ty typing, fetch bool) (state string, over bool) {
	e := g.ending(ty)
	if e.how == neverEnds {
		return "", false
	}
	s := g.m.SpanOf(obj)
	mem, addr := g.payload(s, obj)
	var field [8]byte
	switch {
	case e.off+8 <= uint64(len(mem)):
		copy(field[:], mem[e.off:])
	case mem == nil && fetch && e.off+8 <= s.ElemSize && g.m.Mem.Try(addr+e.off, 8):
		binary.LittleEndian.PutUint64(field[:], g.m.Mem.U64(addr+e.off))
	default:
		return "", false
	}
	word := binary.LittleEndian.Uint64(field[:])
	switch e.how {
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
	return e.state, over
}
