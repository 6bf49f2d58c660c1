package heaptype

import (
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Table holds the types that were requested. It is safe for concurrent use: known types are found
// without a lock, and one goroutine at a time makes new ones. A published type does not change. The
// index of a type depends on the order of requests, so a report must not depend on it; Type.Before
// is an order that does not.
type Table struct {
	Model   *goruntime.Model
	Names   *debuginfo.Index
	Offsets offsets
	*program

	passing objset.AddressMap[Type] // of descriptors that are no constants
	byItab  objset.AddressMap[Type]
	funcs   objset.AddressMap[Type] // by the address of a func value that is not on the heap

	make maker // guarded by program.mu
}

// NewTable returns a table without types; if own says that the model is of this process, it shares
// those of other such tables. It fails if the debug information lacks the runtime's containers.
func NewTable(m *goruntime.Model, names *debuginfo.Index, own bool) (*Table, error) {
	o, err := loadOffsets(m)
	if err != nil {
		return nil, err
	}
	p := programOf(names, m.Bias(), own)
	return &Table{Model: m, Names: names, Offsets: o, program: p, make: newMaker(m, p)}, nil
}

// At returns a type by its number, nil for 0.
func (tt *Table) At(index int32) *Type { return (*tt.list.Load())[index] }

// Len is one more than the highest number of a type.
func (tt *Table) Len() int { return len(*tt.list.Load()) }

// maker locks the table and returns its maker, which the caller may use until it calls done.
func (tt *Table) maker() *maker {
	tt.mu.Lock()
	return &tt.make
}

// publish makes new types visible to all goroutines. A type must be published before the maps lead
// to it.
func (tt *Table) publish() {
	known := len(*tt.list.Load())
	if known == len(tt.types) {
		return
	}
	for _, t := range tt.types[known:] {
		t.IsGroup = strings.HasPrefix(t.Name, groupPrefix)
	}
	all := tt.types
	tt.list.Store(&all)
}

// done publishes the new types and unlocks, even after a panic: otherwise other goroutines would
// wait for ever.
func (tt *Table) done() {
	defer tt.mu.Unlock()
	fault := recover()
	tt.publish()
	if fault != nil {
		tt.forget() // a type may be half made
		panic(fault)
	}
}

// ByID returns a type of the debug information, nil for 0.
func (tt *Table) ByID(id debuginfo.TypeID) *Type {
	defer tt.done()
	return tt.maker().byID(id)
}

// Named returns the type of that name, nil if there is none.
func (tt *Table) Named(name string) *Type {
	defer tt.done()
	k := tt.maker()
	id, _ := k.names.TypeByName(name)
	return k.byID(id)
}

// target returns the type that the reference o leads to, nil if it is not known.
//
//go:norace
func (tt *Table) target(o *Op) *Type {
	if o.lazy == nil {
		return o.Type
	}
	t := o.lazy.t.Load()
	if t == nil {
		defer tt.done()
		t = tt.maker().byID(o.lazy.id)
		tt.publish()
		o.lazy.t.Store(t)
	}
	return t
}

// byteType is the element type of strings.
//
//go:norace
func (tt *Table) byteType() *Type {
	t := tt.elemOfString.Load()
	if t == nil {
		defer tt.done()
		k := tt.maker()
		if t = tt.elemOfString.Load(); t == nil {
			t = k.bytes()
			tt.publish()
			tt.elemOfString.Store(t)
		}
	}
	return t
}

// ByDescriptor returns the type of a run-time descriptor in the process, nil if it is not known.
func (tt *Table) ByDescriptor(addr uint64) *Type {
	if t, ok := tt.byRType.Get(addr); ok {
		return t
	}
	if t, ok := tt.passing.Get(addr); ok {
		return t
	}
	rt := tt.Model.Type(addr)
	if rt == nil {
		return nil
	}
	defer tt.done()
	k, known := tt.maker(), &tt.byRType
	if !tt.Model.IsConstant(addr) {
		known = &tt.passing
	}
	if t, ok := known.Get(addr); ok {
		return t
	}
	t := k.byRuntimeType(addr)
	if t != nil && rt.Direct {
		t.direct.Store(true)
	}
	tt.publish()
	known.Add(addr, t)
	return t
}

// ofItab returns the type that an itab leads to, nil if it is not known; ok is false if there can
// be no itab at the address.
func (tt *Table) ofItab(tab uint64) (t *Type, ok bool) {
	if t, ok := tt.byItab.Get(tab); ok {
		return t, true
	}
	if !tt.Model.Mem.Try(tab, 16) {
		return nil, false
	}
	if t = tt.ByDescriptor(tt.Model.Mem.U64(tab + 8)); t != nil {
		tt.add(&tt.byItab, tab, t)
	}
	return t, true
}

// add adds an entry to a map, unless another goroutine has added it meanwhile.
func (tt *Table) add(m *objset.AddressMap[Type], addr uint64, value *Type) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if _, ok := m.Get(addr); !ok {
		m.Add(addr, value)
	}
}

// Closure returns the type of closures of the function at an address, nil if there is no such
// function.
//
//go:norace
func (tt *Table) Closure(entry uint64) *Type {
	if t, ok := tt.closures.Get(entry); ok {
		return t
	}
	f := tt.Model.FuncAt(entry)
	if f == nil || f.Entry != entry {
		return nil
	}
	defer tt.done()
	k := tt.maker()
	if t, ok := tt.closures.Get(entry); ok {
		return t
	}
	t := k.closure(f)
	tt.publish()
	tt.closures.Add(entry, t)
	return t
}

// funcValue returns the type of the closure that a func value which is not on the heap refers to,
// nil if there is none.
func (tt *Table) funcValue(fn uint64) *Type {
	if t, ok := tt.funcs.Get(fn); ok {
		return t
	}
	if !tt.Model.Mem.Try(fn, 8) {
		return nil
	}
	t := tt.Closure(tt.Model.Mem.U64(fn))
	if t != nil {
		tt.add(&tt.funcs, fn, t)
	}
	return t
}

// MapLayout finds the layout of the groups of a map type.
func (tt *Table) MapLayout(t *Type) *mapLayout {
	l := t.layout.Load()
	if l == nil {
		defer tt.done()
		l = tt.maker().mapLayout(t)
		tt.publish()
		t.layout.Store(l)
	}
	return l
}

// trieLayout finds the layout of the nodes of a HashTrieMap type, nil if the debug information
// lacks it.
func (tt *Table) trieLayout(t *Type) *trieLayout {
	l := t.trie.Load()
	if l == nil {
		defer tt.done()
		l = tt.maker().trieLayout(t)
		tt.publish()
		t.trie.Store(l)
	}
	if l == unknownTrie {
		return nil
	}
	return l
}

// variant returns a variant of a closure type.
func (tt *Table) variant(t *Type, v variant) *Type {
	if found := t.knownVariant(v); found != nil {
		return found
	}
	defer tt.done()
	k := tt.maker()
	if found := t.knownVariant(v); found != nil {
		return found
	}
	made := k.variant(t, v)
	tt.publish()
	of := newIn[typeVariant](tt.program)
	of.variant, of.t, of.other = v, made, t.variants.Load()
	t.variants.Store(of)
	return made
}

// StandsFor returns the type that a shape stands for in the dictionary at an address, nil if that
// cannot be told.
func (tt *Table) StandsFor(shape debuginfo.TypeID, types []debuginfo.DictType, dict uint64) *Type {
	defer tt.done()
	k := tt.maker()
	return k.byID(k.standsFor(shape, types, dict))
}

// Enclosing returns the only struct type of the program that matches the query, nil if there are
// none or several.
func (tt *Table) Enclosing(e EnclosingQuery) *Type {
	defer tt.done()
	return tt.maker().enclosing(e)
}
