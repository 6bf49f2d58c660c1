package heaptype

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/objset"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// maker makes types for a Table, once each. Its methods must not run at the same time.
type maker struct {
	*program
	m        *goruntime.Model
	nested   int                       // how many calls of byID are under way, one inside the other
	offHeap  map[debuginfo.TypeID]bool // types of pointees: see notInHeap
	passing  objset.AddressMap[Type]   // described, for descriptors that are no constants
	surveyed *survey                   // nil until it is needed, which is once if the program lasts
}

func newMaker(m *goruntime.Model, p *program) maker {
	return maker{program: p, m: m, offHeap: make(map[debuginfo.TypeID]bool)}
}

// newType adds a type.
func (k *maker) newType(name string, kind reflect.Kind, size uint64) *Type {
	t := newIn[Type](k.program)
	t.Name, t.Kind, t.Size = k.text(name), kind, size
	return k.add(t)
}

// add gives a type its index. Types beyond MaxIndex get none, and their objects count as untyped.
func (k *maker) add(t *Type) *Type {
	if len(k.types) <= MaxIndex {
		t.Index = int32(len(k.types))
		n := len(k.types)
		if n == cap(k.types) {
			more := listIn[*Type](k.program, 2*n)
			copy(more, k.types)
			k.types = more
		}
		k.types = k.types[:n+1]
		k.types[n] = t
	}
	return t
}

// addOp appends a reference to those of a type.
func (k *maker) addOp(t *Type, o Op) {
	o.label = k.text(o.label)
	n := len(t.Ops)
	if n == cap(t.Ops) {
		more := listIn[Op](k.program, 2*n+1)
		copy(more, t.Ops)
		t.Ops = more
	}
	t.Ops = t.Ops[:n+1]
	t.Ops[n] = o
}

// ref returns the reference to a type of the debug information, nil for 0.
func (k *maker) ref(id debuginfo.TypeID) *typeRef {
	if id == 0 {
		return nil
	}
	if int64(id) >= int64(len(k.origins)) {
		return nil
	}
	r := &k.origins[id].typeRef
	r.id = id
	return r
}

// allocatedAs maps types to the larger types that their objects are always allocated as (go1.26
// time/sleep.go, newTimer; runtime/time.go, timeTimer; iter/iter.go, newcoro; runtime/coro.go).
var allocatedAs = map[string]string{
	"time.Timer":  "runtime.timeTimer",
	"time.Ticker": "runtime.timeTimer",
	"iter.coro":   "runtime.coro",
}

// byID returns a type of the debug information.
func (k *maker) byID(id debuginfo.TypeID) *Type {
	if id == 0 || int64(id) >= int64(len(k.origins)) {
		return nil
	}
	if t := k.origins[id].made; t != nil {
		return t
	}
	if k.nested > maxDepth {
		return nil
	}
	d := k.names.Type(id)
	if symbol.IsShaped(d.Name) {
		if i := k.instance(id, d); i != id {
			t := k.byID(i)
			k.origins[id].made = t
			return t
		}
	}
	t := k.newType(d.Name, d.Kind, uint64(max(d.Size, 0)))
	t.Shaped, t.Elem, t.key, t.Origin = symbol.IsShaped(d.Name), d.Elem, d.Key, id
	k.origins[id].made = t
	layout := d
	if as, ok := allocatedAs[d.Name]; ok {
		if real, found := k.names.TypeByName(as); found {
			layout = k.names.Type(real)
			t.Size = uint64(layout.Size)
		}
	}
	k.nested++
	if t.Kind == reflect.Chan {
		t.chanElem, t.chanHead = k.byID(d.Elem), k.hchan()
	}
	k.compile(t, layout, 0, "", 0)
	k.nested--
	k.number(t)
	return t
}

// maxOps bounds the references of one value, arrays counted once. References beyond it stay
// untyped.
const maxOps = 1 << 20

// maxDepth bounds the nesting of structs and arrays in one value, and that of arrays and channels
// in each other.
const maxDepth = 64

// compile appends the references of d, which lies at an offset of t under a label.
//
//go:norace
func (k *maker) compile(t *Type, d debuginfo.Type, off uint64, label string, depth int) {
	if depth > maxDepth || len(t.Ops) > maxOps || d.Size == 0 {
		return
	}
	if kind, target, ok := k.reference(d); ok {
		k.addOp(t, Op{Offset: off, Kind: kind, label: label, lazy: k.ref(target)})
		return
	}
	switch d.Kind {
	case reflect.Array:
		elem := k.byID(d.Elem)
		if elem == nil || !elem.HasPointers() || elem.Size == 0 || d.Len <= 0 {
			return
		}
		if d.Len == 1 {
			k.compile(t, k.names.Type(d.Elem), off, label+"[0]", depth+1)
			return
		}
		k.addOp(t, Op{Offset: off, Kind: OpArray, label: label, Type: elem, Len: uint64(d.Len)})
	case reflect.Struct:
		if strings.HasPrefix(d.Name, TrieMapPrefix) || strings.HasPrefix(d.Name, canonMapPrefix) {
			k.compileTrie(t, d, off, label, depth)
			return
		}
		for _, f := range d.Fields {
			if f.Name == "_" || f.Offset < 0 {
				continue
			}
			name := JoinLabel(label, fieldLabel(d.Name, f.Name))
			if transparent(d.Name, f.Name) {
				name = label
			}
			if kind, target, ok := k.hiddenReference(d, f); ok {
				k.addOp(t, Op{Offset: off + uint64(f.Offset), Kind: kind, label: name, lazy: k.ref(target)})
				continue
			}
			k.compile(t, k.names.Type(f.Type), off+uint64(f.Offset), name, depth+1)
		}
	}
}

// reference tells which kind of reference values of a type are, and the type that the walk needs:
// that of the pointee or of a slice's elements, or the map, channel or func type itself.
func (k *maker) reference(d debuginfo.Type) (kind opKind, target debuginfo.TypeID, ok bool) {
	switch d.Kind {
	case reflect.Pointer:
		if strings.HasPrefix(d.Name, shapePrefix) {
			return OpUnsafe, 0, true // any pointer
		}
		if d.Name == "*runtime.hchan" {
			return opHchan, d.Elem, true
		}
		return opPointer, d.Elem, !k.notInHeap(d.Elem)
	case reflect.UnsafePointer:
		return OpUnsafe, 0, true
	case reflect.String:
		return opString, 0, true
	case reflect.Slice:
		return opSlice, d.Elem, true
	case reflect.Interface:
		if d.HasMethodsIface {
			return OpIface, 0, true
		}
		return OpEface, 0, true
	case reflect.Map:
		return opMap, d.ID, true
	case reflect.Chan:
		return opChan, d.ID, true
	case reflect.Func:
		return opFunc, d.ID, true
	case reflect.Struct:
		switch d.Name {
		case "reflect.Value":
			return OpReflect, 0, true
		case "sync.eface":
			return OpPooled, 0, true
		}
	}
	return 0, 0, false
}

// notInHeap caches NotInHeap for struct types.
func (k *maker) notInHeap(id debuginfo.TypeID) bool {
	is, known := k.offHeap[id]
	if !known {
		is = NotInHeap(k.names, id)
		k.offHeap[id] = is
	}
	return is
}

// NotInHeap reports whether a type is marked as living outside of the collected heap; pointers to
// it are no pointers to the collector (go1.26 and go1.27 internal/runtime/sys/nih.go). Types of the
// runtime are, and the C structs that cgo knows by their names alone: they embed
// runtime/cgo.Incomplete.
func NotInHeap(names *debuginfo.Index, id debuginfo.TypeID) bool { return notInHeap(names, id, 0) }

func notInHeap(names *debuginfo.Index, id debuginfo.TypeID, depth int) bool {
	if id == 0 || depth > 4 {
		return false
	}
	d := names.TypeHead(id)
	if d.Name == "internal/runtime/sys.NotInHeap" || d.Name == "internal/runtime/sys.nih" {
		return true
	}
	if d.Kind != reflect.Struct {
		return false
	}
	for _, f := range names.Type(id).Fields {
		if f.Offset == 0 && notInHeap(names, f.Type, depth+1) {
			return true
		}
	}
	return false
}

// fieldLabel is a field's name, except that both directions of a container/list have one name.
// Otherwise the elements of a list would be split where the paths from its two ends meet.
func fieldLabel(typeName, field string) string {
	if typeName == "container/list.Element" && field == "prev" {
		return "next"
	}
	return field
}

// transparent reports whether a field has no name of its own in paths: its type wraps one value.
func transparent(typeName, field string) bool {
	switch field {
	case "m":
		return typeName == "sync.Map"
	case "v":
		return typeName == "sync/atomic.Value" || strings.HasPrefix(typeName, "sync/atomic.Pointer[")
	}
	return false
}

// number gives each reference its order number and lists the pointer words.
func (k *maker) number(t *Type) {
	ords := uint32(0)
	for i := range t.Ops {
		t.Ops[i].Ref = ords
		if t.Ops[i].Kind == OpArray {
			ords += t.Ops[i].Type.Refs * uint32(min(t.Ops[i].Len, maxElems+1))
		} else {
			ords++
		}
	}
	t.Refs = ords
	var room [maxWords + 2]uint32
	words := room[:0]
	if t.pointerWords(0, &words) {
		if len(words) > 0 {
			t.Words = listIn[uint32](k.program, len(words))
			copy(t.Words, words)
		}
		for _, w := range words {
			if w < 64 {
				t.Mask |= 1 << w
			}
		}
	}
}

// pointerWords appends the word indexes of a type's pointers; false if there are too many.
func (t *Type) pointerWords(base uint64, words *[]uint32) bool {
	for i := range t.Ops {
		o := &t.Ops[i]
		switch o.Kind {
		case OpArray:
			for k := uint64(0); k < o.Len; k++ {
				if !o.Type.pointerWords(base+o.Offset+k*o.Type.Size, words) {
					return false
				}
			}
		case OpReflect, OpPooled:
			*words = append(*words, uint32((base+o.Offset)/8), uint32((base+o.Offset)/8+1))
		case OpIface, OpEface:
			// The first word leads to type information, which the collector need not follow (go1.26
			// cmd/compile/internal/typebits/typebits.go).
			*words = append(*words, uint32((base+o.Offset)/8+1))
		default:
			*words = append(*words, uint32((base+o.Offset)/8))
		}
		if len(*words) > maxWords {
			return false
		}
	}
	return true
}

// bytes makes the element type of strings.
func (k *maker) bytes() *Type {
	if id, ok := k.names.TypeByName("uint8"); ok {
		return k.byID(id)
	}
	return k.newType("uint8", reflect.Invalid, 1)
}

// hiddenReference returns the real type of a field whose static type hides its target: the pointer
// of sync/atomic.Pointer[T] (its zero-length first field has type [0]*T), and the per-processor
// pools of sync.Pool (go1.26 sync/pool.go).
func (k *maker) hiddenReference(d debuginfo.Type, field debuginfo.Field) (kind opKind, target debuginfo.TypeID, ok bool) {
	switch {
	case strings.HasPrefix(d.Name, "sync/atomic.Pointer[") && field.Name == "v":
		for _, f := range d.Fields {
			if arr := k.names.TypeHead(f.Type); arr.Kind == reflect.Array && arr.Len == 0 {
				if p := k.names.TypeHead(arr.Elem); p.Kind == reflect.Pointer {
					return opPointer, p.Elem, true
				}
			}
		}
	case strings.HasPrefix(d.Name, "internal/runtime/atomic.Pointer[") && field.Name == "u":
		name := d.Name[len("internal/runtime/atomic.Pointer[") : len(d.Name)-1]
		if id, found := k.names.TypeByName(name); found {
			return opPointer, id, true
		}
	case strings.HasPrefix(d.Name, "weak.Pointer[") && field.Name == "u":
		// The handle holds the address where the collector does not see it (go1.26
		// runtime/mheap.go, specialWeakHandle).
		if id, found := k.names.TypeByName("internal/runtime/atomic.Uintptr"); found {
			return opPointer, id, true
		}
	case d.Name == "sync.Pool" && (field.Name == "local" || field.Name == "victim"):
		if id, found := k.names.TypeByName("sync.poolLocal"); found {
			return opCounted, id, true
		}
	}
	return 0, 0, false
}
