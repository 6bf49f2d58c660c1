package judge

import (
	"reflect"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// Types holds, by object number, the types that references to the object's first byte give it:
// "*T", "[]T", "string", the name of a map, channel or boxed type.
type Types map[int]map[string]bool

// A view is memory seen as a value of a type.
type view struct {
	addr uint64
	typ  debuginfo.TypeID
}

// maxViews bounds how many views Types follows.
const maxViews = 20_000_000

// Types follows every reference that a package variable or an object holds. It walks each object
// once for every type that some reference gives it, and prefers none of these types. It stops where
// the debug information does not describe memory: the tables of maps, channels' buffers, closures.
// Types are those of the debug information, which is checked against delve.
func (g *Graph) Types(x *debuginfo.Index, bias uint64) Types {
	w := &typeWalk{g: g, x: x, found: make(Types), seen: make(map[view]bool)}
	for _, v := range x.Globals() {
		if v.Type != 0 {
			w.value(v.Addr+bias, v.Type)
		}
	}
	for len(w.todo) > 0 && len(w.seen) < maxViews {
		v := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.value(v.addr, v.typ)
	}
	return w.found
}

type typeWalk struct {
	g     *Graph
	x     *debuginfo.Index
	found Types
	seen  map[view]bool
	todo  []view
}

// recordType records the type that a reference gives to the object it leads to.
func (w *typeWalk) recordType(to uint64, name string) {
	if i := w.g.Find(to); i != None && w.g.Objects[i].start() == to {
		if w.found[i] == nil {
			w.found[i] = make(map[string]bool)
		}
		w.found[i][name] = true
	}
}

// start returns the address of an object's first byte behind the word that may hold the address of
// its type.
func (o Object) start() uint64 {
	if o.span.HasHeader() {
		return o.Addr + 8
	}
	return o.Addr
}

func (w *typeWalk) enqueue(addr uint64, typ debuginfo.TypeID) {
	v := view{addr, typ}
	if typ != 0 && w.g.Find(addr) != None && !w.seen[v] {
		w.seen[v] = true
		w.todo = append(w.todo, v)
	}
}

// value follows the references in a value.
func (w *typeWalk) value(addr uint64, id debuginfo.TypeID) {
	t := w.x.Type(id)
	to, err := w.g.heap.word(addr)
	if err != nil || t.Size == 0 {
		return
	}
	switch t.Kind {
	case reflect.Pointer:
		w.recordType(to, "*"+w.x.Type(t.Elem).Name)
		w.enqueue(to, t.Elem)
	case reflect.String:
		w.recordType(to, "string")
	case reflect.Map, reflect.Chan:
		w.recordType(to, t.Name)
	case reflect.Slice:
		elem := w.x.Type(t.Elem)
		w.recordType(to, "[]"+elem.Name)
		n, err := w.g.heap.word(addr + 16)
		for i := uint64(0); err == nil && i < n && n < 1<<24 && elem.Size > 0; i++ {
			w.enqueue(to+i*uint64(elem.Size), t.Elem)
		}
	case reflect.Array:
		for i := range t.Len {
			w.value(addr+uint64(i*w.x.Type(t.Elem).Size), t.Elem)
		}
	case reflect.Struct:
		for _, f := range t.Fields {
			w.value(addr+uint64(f.Offset), f.Type)
		}
	case reflect.Interface:
		w.dynamic(addr, to, t.HasMethodsIface)
	}
}

// dynamic follows the value in an interface.
func (w *typeWalk) dynamic(addr, tab uint64, methods bool) {
	h := w.g.heap
	data, err := h.word(addr + 8)
	if err != nil || tab == 0 || data == 0 {
		return
	}
	if methods {
		if tab, err = h.word(tab + 8); err != nil {
			return
		}
	}
	hash, err := h.word(tab + 16)
	if err != nil {
		return
	}
	d, err := h.readType(tab)
	if err != nil {
		return
	}
	for _, id := range w.x.TypesByHash(uint32(hash)) {
		t := w.x.Type(id)
		switch {
		case t.Kind != reflect.Kind(d.kind) || uint64(t.Size) != d.size:
		case t.Kind == reflect.Pointer:
			w.recordType(data, "*"+w.x.Type(t.Elem).Name)
			w.enqueue(data, t.Elem)
		case d.flags&flagDirect == 0:
			w.recordType(data, t.Name)
			w.enqueue(data, id)
		}
	}
}
