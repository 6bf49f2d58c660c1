package heaptype

import (
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

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

	list     atomic.Pointer[[]*Type] // by Type.Index; 0 is unused
	byRType  objset.AddressMap       // *dynamicType
	byItab   objset.AddressMap       // *dynamicType
	closures objset.AddressMap       // *Type by the function's address
	// *Type by the address of a func value that is not on the heap
	funcs        objset.AddressMap
	elemOfString atomic.Pointer[Type]

	mu   sync.Mutex // guards make, and additions to the maps
	make maker
}

// dynamicType is the type that an interface's type word leads to.
type dynamicType struct {
	t      *Type
	direct bool // the interface holds the value itself, not a pointer to it
}

// NewTable returns a table without types. It fails if the debug information lacks the runtime's
// containers.
func NewTable(m *goruntime.Model, names *debuginfo.Index) (*Table, error) {
	o, err := loadOffsets(m)
	if err != nil {
		return nil, err
	}
	tt := &Table{Model: m, Names: names, Offsets: o, make: newMaker(m, names)}
	tt.list.Store(&[]*Type{nil})
	return tt, nil
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
	if known == len(tt.make.types) {
		return
	}
	for _, t := range tt.make.types[known:] {
		t.IsGroup = strings.HasPrefix(t.Name, groupPrefix)
	}
	all := tt.make.types
	tt.list.Store(&all)
}

// done publishes the new types and unlocks, even after a panic: otherwise other goroutines would
// wait for ever.
func (tt *Table) done() {
	defer tt.mu.Unlock()
	tt.publish()
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

// dynamic returns the type of a run-time descriptor in the process, nil if it is not known.
func (tt *Table) dynamic(addr uint64) *dynamicType {
	if d, ok := tt.byRType.Get(addr); ok {
		return (*dynamicType)(d)
	}
	rt := tt.Model.Type(addr)
	if rt == nil {
		return nil
	}
	defer tt.done()
	k := tt.maker()
	if d, ok := tt.byRType.Get(addr); ok {
		return (*dynamicType)(d)
	}
	var d *dynamicType
	if t := k.byRuntimeType(addr); t != nil {
		d = &dynamicType{t, rt.Direct}
	}
	tt.publish()
	tt.byRType.Add(addr, unsafe.Pointer(d))
	return d
}

// ByDescriptor returns the type of a run-time descriptor in the process, nil if it is not known.
func (tt *Table) ByDescriptor(addr uint64) *Type {
	if d := tt.dynamic(addr); d != nil {
		return d.t
	}
	return nil
}

// ofItab returns the type that an itab leads to, nil if it is not known; ok is false if there can
// be no itab at the address.
func (tt *Table) ofItab(tab uint64) (d *dynamicType, ok bool) {
	if d, ok := tt.byItab.Get(tab); ok {
		return (*dynamicType)(d), true
	}
	if !tt.Model.Mem.Try(tab, 16) {
		return nil, false
	}
	if d = tt.dynamic(tt.Model.Mem.U64(tab + 8)); d != nil {
		tt.add(&tt.byItab, tab, unsafe.Pointer(d))
	}
	return d, true
}

// add adds an entry to a map, unless another goroutine has added it meanwhile.
func (tt *Table) add(m *objset.AddressMap, addr uint64, value unsafe.Pointer) {
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
		return (*Type)(t)
	}
	f := tt.Model.FuncAt(entry)
	if f == nil || f.Entry != entry {
		return nil
	}
	defer tt.done()
	k := tt.maker()
	if t, ok := tt.closures.Get(entry); ok {
		return (*Type)(t)
	}
	t := k.closure(f)
	tt.publish()
	tt.closures.Add(entry, unsafe.Pointer(t))
	return t
}

// funcValue returns the type of the closure that a func value which is not on the heap refers to,
// nil if there is none.
func (tt *Table) funcValue(fn uint64) *Type {
	if t, ok := tt.funcs.Get(fn); ok {
		return (*Type)(t)
	}
	if !tt.Model.Mem.Try(fn, 8) {
		return nil
	}
	t := tt.Closure(tt.Model.Mem.U64(fn))
	if t != nil {
		tt.add(&tt.funcs, fn, unsafe.Pointer(t))
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
	all := []typeVariant{{v, made}}
	if known := t.variants.Load(); known != nil {
		all = append(all, *known...)
	}
	t.variants.Store(&all)
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
