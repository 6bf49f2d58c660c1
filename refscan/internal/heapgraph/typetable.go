package heapgraph

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// typeTable has the types that were met. Several goroutines may ask it at once: what is known is found without a lock, and
// what is not is made by one of them at a time. Types do not change once others can see them. Their numbers depend on who
// asked first, so nothing in a report may; Type.before is an order that does not.
type typeTable struct {
	m *goruntime.Model

	list     atomic.Pointer[[]*Type] // by Type.index; 0 is unused
	byRType  goruntime.AddrMap       // *dynamicType
	byItab   goruntime.AddrMap       // *dynamicType
	closures goruntime.AddrMap       // *Type by the function's address
	funcs    goruntime.AddrMap       // *Type by the address of a func value that is not on the heap
	byteType atomic.Pointer[Type]
	chanEnd  ending

	mu   sync.Mutex // of what makes types, and to add to the maps
	make typeMaker
}

// dynamicType is what an interface's type word tells.
type dynamicType struct {
	t      *Type
	direct bool // the interface holds the value itself, not a pointer to it
}

func newTypeTable(m *goruntime.Model, names Names) *typeTable {
	tt := &typeTable{m: m, make: newTypeMaker(m, names)}
	tt.list.Store(&[]*Type{nil})
	if off, err := m.FieldOffset("runtime.hchan", "closed"); err == nil {
		tt.chanEnd = ending{off, halfSet, "closed"}
	}
	return tt
}

// at returns a type by its number, nil for 0.
//
//go:noinline
func (tt *typeTable) at(index int32) *Type { return (*tt.list.Load())[index] }

// maker returns what makes types, until the caller calls done.
//
//go:noinline
func (tt *typeTable) maker() *typeMaker {
	tt.mu.Lock()
	return &tt.make
}

// publish lets everybody see what was made, which must precede that somebody finds it.
func (tt *typeTable) publish() {
	known := len(*tt.list.Load())
	if known == len(tt.make.types) {
		return
	}
	for _, t := range tt.make.types[known:] {
		t.turn, t.ending = turnOf(t.Name), endingOf(tt.m, t.Name)
		t.group = hasPrefix(t.Name, groupPrefix)
	}
	all := tt.make.types
	tt.list.Store(&all)
}

//go:noinline
func (tt *typeTable) done() {
	tt.publish()
	tt.mu.Unlock()
}

// byID returns a type of the debug information, nil for 0.
func (tt *typeTable) byID(id debuginfo.TypeID) *Type {
	defer tt.done()
	return tt.maker().byID(id)
}

// named returns the type of that name, nil if there is none.
func (tt *typeTable) named(name string) *Type {
	defer tt.done()
	k := tt.maker()
	id, _ := k.names.TypeByName(name)
	return k.byID(id)
}

// target returns what a reference of a type refers to, nil if that is not known.
func (tt *typeTable) target(o *op) *Type {
	if o.ref == nil {
		return o.typ
	}
	t := o.ref.t.Load()
	if t == nil {
		defer tt.done()
		t = tt.maker().byID(o.ref.id)
		tt.publish()
		o.ref.t.Store(t)
	}
	return t
}

// bytes is the element type of strings.
func (tt *typeTable) bytes() *Type {
	t := tt.byteType.Load()
	if t == nil {
		defer tt.done()
		k := tt.maker()
		if t = tt.byteType.Load(); t == nil {
			t = k.bytes()
			tt.publish()
			tt.byteType.Store(t)
		}
	}
	return t
}

// dynamic returns the type of a run-time descriptor in the process, nil if it is not known.
func (tt *typeTable) dynamic(addr uint64) *dynamicType {
	if d, ok := tt.byRType.Get(addr); ok {
		return (*dynamicType)(d)
	}
	rt := tt.m.Type(addr)
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

// byRuntimeType returns the type of a run-time descriptor in the process, nil if it is not known.
//
//go:noinline
func (tt *typeTable) byRuntimeType(addr uint64) *Type {
	if d := tt.dynamic(addr); d != nil {
		return d.t
	}
	return nil
}

// ofItab returns the type that an itab tells, nil if it is not known; ok is false if there can be no itab.
func (tt *typeTable) ofItab(tab uint64) (d *dynamicType, ok bool) {
	if d, ok := tt.byItab.Get(tab); ok {
		return (*dynamicType)(d), true
	}
	if !tt.m.Mem.Try(tab, 16) {
		return nil, false
	}
	if d = tt.dynamic(tt.m.Mem.U64(tab + 8)); d != nil {
		tt.add(&tt.byItab, tab, unsafe.Pointer(d))
	}
	return d, true
}

// add adds to a map what others may have added meanwhile.
func (tt *typeTable) add(m *goruntime.AddrMap, addr uint64, value unsafe.Pointer) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if _, ok := m.Get(addr); !ok {
		m.Add(addr, value)
	}
}

// closure returns the type of closures of the function at an address, nil if there is no such
// function.
func (tt *typeTable) closure(entry uint64) *Type {
	if t, ok := tt.closures.Get(entry); ok {
		return (*Type)(t)
	}
	f := tt.m.FuncAt(entry)
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

// funcValue returns the type of the closure that a func value which is not on the heap refers to, nil if there is none.
func (tt *typeTable) funcValue(fn uint64) *Type {
	if t, ok := tt.funcs.Get(fn); ok {
		return (*Type)(t)
	}
	if !tt.m.Mem.Try(fn, 8) {
		return nil
	}
	t := tt.closure(tt.m.Mem.U64(fn))
	if t != nil {
		tt.add(&tt.funcs, fn, unsafe.Pointer(t))
	}
	return t
}

// mapLayout finds the layout of the groups of a map type.
func (tt *typeTable) mapLayout(t *Type) *mapLayout {
	l := t.layout.Load()
	if l == nil {
		defer tt.done()
		l = tt.maker().mapLayout(t)
		tt.publish()
		t.layout.Store(l)
	}
	return l
}

// trieLayout finds the layout of the nodes of a HashTrieMap type, nil if the debug information lacks
// it.
func (tt *typeTable) trieLayout(t *Type) *trieLayout {
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
func (tt *typeTable) variant(t *Type, v variant) *Type {
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

// standsFor returns the type that a shape stands for in the dictionary at an address, nil if that cannot be told.
func (tt *typeTable) standsFor(shape debuginfo.TypeID, types []debuginfo.DictType, dict uint64) *Type {
	defer tt.done()
	k := tt.maker()
	return k.byID(k.standsFor(shape, types, dict))
}

// enclosing returns the only struct type of the program that answers the question, nil if there are none or several.
func (tt *typeTable) enclosing(e enclosure) *Type {
	defer tt.done()
	return tt.maker().enclosing(e)
}
