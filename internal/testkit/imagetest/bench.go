package imagetest

import (
	"bytes"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// A Bench is the recorded program to damage, with the model of its undamaged image. It finds the
// runtime's structures by the names of their fields.
type Bench struct {
	*Program
	TB    testing.TB
	Model *goruntime.Model
}

// NewBench records the program, or mends it if it is recorded already.
func NewBench(tb testing.TB) *Bench {
	tb.Helper()
	p := Record(tb)
	m, err := p.Load(p)
	require.NoError(tb, err)
	p.Copies = 0
	return &Bench{p, tb, m}
}

// Offset returns the offset of a field of one of the runtime's structures.
func Offset(m *goruntime.Model, typ, field string) (uint64, error) {
	l := m.Fields()
	off, _ := l.Range(typ, field)
	return off, l.Err()
}

// Offset is the function Offset for a field that is there.
func (b *Bench) Offset(typ, field string) uint64 {
	b.TB.Helper()
	off, err := Offset(b.Model, typ, field)
	require.NoError(b.TB, err)
	return off
}

// Variable returns the address of a package variable.
func (b *Bench) Variable(name string) uint64 {
	b.TB.Helper()
	g, ok := b.Index.GlobalByName(name)
	require.True(b.TB, ok, name)
	return g.Addr
}

// Module returns the address of a field of the module data.
func (b *Bench) Module(field string) uint64 {
	return b.Variable("runtime.firstmoduledata") + b.Offset("runtime.moduledata", field)
}

// Fill overwrites every byte of a table of the module data with one value.
func (b *Bench) Fill(field string, with byte) {
	at := b.Module(field)
	b.Put(b.U64(at), bytes.Repeat([]byte{with}, int(b.U64(at+8))))
}

// Goroutine returns a goroutine that has a function on its stack.
func (b *Bench) Goroutine(function string) *goruntime.Goroutine {
	b.TB.Helper()
	for _, g := range b.Model.Goroutines {
		found := false
		_ = b.Model.Frames(g, func(f *goruntime.Frame) error {
			found = found || f.Func.Name == function
			return nil
		})
		if found {
			return g
		}
	}
	require.Fail(b.TB, "no goroutine is in "+function)
	return nil
}

// Spans returns the addresses of the records of the spans in use that satisfy a condition.
func (b *Bench) Spans(is func(span uint64) bool) []uint64 {
	b.TB.Helper()
	list := b.Variable("runtime.mheap_") + b.Offset("runtime.mheap", "allspans")
	state := b.Offset("runtime.mspan", "state")
	var out []uint64
	for i := range b.U64(list + 8) {
		if span := b.U64(b.U64(list) + 8*i); b.U64(span+state)&0xff == 1 && is(span) {
			out = append(out, span)
		}
	}
	require.NotEmpty(b.TB, out)
	return out
}

// Type returns the descriptor of the type with a name.
func (b *Bench) Type(name string) uint64 {
	b.TB.Helper()
	id, ok := b.Index.TypeByName(name)
	require.True(b.TB, ok, name)
	addr := b.Index.Type(id).RuntimeAddr
	require.NotZero(b.TB, addr, name)
	return addr
}

// Object returns the span and the number of the object at an address.
func (b *Bench) Object(addr uint64) (*goruntime.Span, uint32) {
	b.TB.Helper()
	s, obj := b.Model.Object(addr)
	require.NotNil(b.TB, s)
	return s, obj
}

// Function returns the address of a function.
func (b *Bench) Function(name string) uint64 {
	b.TB.Helper()
	for _, f := range b.Index.Funcs() {
		if f.Name == name {
			return f.Entry
		}
	}
	require.Fail(b.TB, "no function "+name)
	return 0
}
