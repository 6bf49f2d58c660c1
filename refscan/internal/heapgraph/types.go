package heapgraph

import (
	"reflect"
	"strconv"
	"sync/atomic"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// Names is the part of the debug information that typing and naming need. Addresses are link-time
// ones.
type Names interface {
	goruntime.Names
	NumTypes() int
	TypeHead(id debuginfo.TypeID) debuginfo.Type
	TypesByHash(hash uint32) []debuginfo.TypeID
	Globals() []debuginfo.Global
	FuncByPC(pc uint64) (debuginfo.Func, bool)
	Locals(entry uint64) []debuginfo.Local
	Captures(entry uint64) []debuginfo.Capture
	Signature(entry uint64) (param debuginfo.TypeID, dict []debuginfo.DictType)
}

// opKind is a sort of reference in memory.
type opKind uint8

const (
	opPointer opKind = iota
	opUnsafe         // unsafe.Pointer: leads somewhere, says nothing of what is there
	opString
	opSlice
	opIface // with methods: itab, data
	opEface // without: type, data
	opMap
	opChan
	opFunc
	opTrie    // the root of an internal/sync.HashTrieMap
	opReflect // a reflect.Value: type, pointer or value, flags
	opPooled  // a sync.eface: an interface whose words are both unsafe.Pointers (go1.26 sync/poolqueue.go)
	opArray   // n elements of typ in place
)

// isWord reports whether references of that sort are one word.
func (k opKind) isWord() bool {
	switch k {
	case opPointer, opUnsafe, opMap, opChan, opFunc, opTrie:
		return true
	}
	return false
}

// op is a reference, or an array of parts with references, at an offset of a type.
type op struct {
	off   uint64
	kind  opKind
	label string   // field path, "" for the value itself
	typ   *Type    // what it refers to, unless ref tells: pointee, slice or array element, the map or channel type
	ref   *typeRef // the same, of a type that is made when it is needed: types refer to themselves
	n     uint64   // opArray: number of elements
	ord   uint32   // of its (first) reference; see Type.ords
}

// typeRef is a type of the debug information that may not be made yet.
type typeRef struct {
	id debuginfo.TypeID
	t  atomic.Pointer[Type]
}

// Type is a type as the walk needs it: the references in it, flattened, in order of offset. It does not change once it is
// in the table, but for what is filled in when it is first asked for.
type Type struct {
	index  int32
	Name   string // with full import paths
	Kind   reflect.Kind
	Size   uint64
	ops    []op
	ords   uint32 // number of distinguishable references: array elements 0 to 9, and the rest as one
	elem   debuginfo.TypeID
	key    debuginfo.TypeID
	origin debuginfo.TypeID
	words  []uint32 // indexes of its pointer words, up to maxWords; nil if there are more
	mask   uint64   // its first 64 words, a bit a word, if words is not nil
	entry  uint64   // closures: address of the function, in the process
	made   variant  // closures, and types that are made at run time: which of those with the same name

	captures []debuginfo.Capture // closures: what they hold
	doubtful bool                // closures: a variable that seems to be captured by reference may lie in the closure itself
	whole    bool                // closures: nothing is missing, whatever the pointer words of an object say
	shaped   bool                // it or a part of it is known by its shape only
	chanElem *Type               // channels: for naming
	chanHead *Type

	group  bool   // of slots of a map
	turn   class  // when its objects may be claimed
	ending ending // how its objects end

	layout   atomic.Pointer[mapLayout]
	trie     atomic.Pointer[trieLayout]    // of a HashTrieMap
	variants atomic.Pointer[[]typeVariant] // closures
}

// A variant is what makes a closure type special: pointer words and size of the closures, the dictionary of shaped code, or the
// static type of the func. Of a type that is made at run time, dict is the address of the descriptor.
type variant struct {
	mask, size uint64
	dict       uint64
	fn         debuginfo.TypeID
}

type typeVariant struct {
	variant
	t *Type
}

func (t *Type) knownVariant(v variant) *Type {
	if known := t.variants.Load(); known != nil {
		for i := range *known {
			if k := &(*known)[i]; k.variant == v {
				return k.t
			}
		}
	}
	return nil
}

// before is an order of types that depends on what they are alone.
func (t *Type) before(u *Type) bool {
	switch a, b := &t.made, &u.made; {
	case t.Name != u.Name:
		return t.Name < u.Name
	case t.origin != u.origin:
		return t.origin < u.origin
	case t.entry != u.entry:
		return t.entry < u.entry
	case a.mask != b.mask:
		return a.mask < b.mask
	case a.size != b.size:
		return a.size < b.size
	case a.dict != b.dict:
		return a.dict < b.dict
	default:
		return a.fn < b.fn
	}
}

// maxIndex bounds the number of types that objects can have, see typing.
const maxIndex = 1<<typingTypeBits - 1

// maxElems is how many elements of an array have names of their own.
const maxElems = 10

// maxWords bounds the list of pointer words that typings are checked with.
const maxWords = 64

// HasPointers reports whether the type holds references.
func (t *Type) HasPointers() bool { return len(t.ops) > 0 }

// label names reference number ord of the type.
func (t *Type) label(ord uint32) string {
	for i := len(t.ops) - 1; i >= 0; i-- {
		o := &t.ops[i]
		if o.ord > ord {
			continue
		}
		if o.kind != opArray {
			return o.label
		}
		rel := ord - o.ord
		return o.label + elemLabel(rel/o.typ.ords) + dotted(o.typ.label(rel%o.typ.ords))
	}
	return ""
}

// elemLabel is "[3]", or "[10+]" for all behind the tenth.
func elemLabel(i uint32) string {
	if i >= maxElems {
		return "[10+]"
	}
	return "[" + strconv.Itoa(int(i)) + "]"
}

//go:noinline
func dotted(s string) string {
	if s == "" || s[0] == '[' {
		return s
	}
	return "." + s
}

// typeMaker makes types for a typeTable, once each. Its methods must not run at the same time.
type typeMaker struct {
	names    Names
	m        *goruntime.Model
	types    []*Type // by Type.index; 0 is unused
	byOrigin map[debuginfo.TypeID]*Type
	refs     map[debuginfo.TypeID]*typeRef
	byRType  map[uint64]*Type
	nested   int // how many types byID is in the course of making
	chanType *Type

	instances map[string][]debuginfo.TypeID // instantiations of generic types, by generic name
	layouts   []debuginfo.Type              // what closures are allocated as
	structs   []structType                  // the other struct types

	enclosures map[enclosure]*Type
}

func newTypeMaker(m *goruntime.Model, names Names) typeMaker {
	return typeMaker{
		names: names, m: m, types: []*Type{nil},
		byOrigin: make(map[debuginfo.TypeID]*Type),
		refs:     make(map[debuginfo.TypeID]*typeRef),
		byRType:  make(map[uint64]*Type),

		enclosures: make(map[enclosure]*Type),
	}
}

// add gives a type its number. Beyond maxIndex there are none, and objects of such types count as untyped.
//
//go:noinline
func (k *typeMaker) add(t *Type) *Type {
	if len(k.types) <= maxIndex {
		t.index = int32(len(k.types))
		k.types = append(k.types, t)
	}
	return t
}

// ref returns the reference to a type of the debug information, nil for 0.
//
//go:noinline
func (k *typeMaker) ref(id debuginfo.TypeID) *typeRef {
	if id == 0 {
		return nil
	}
	r := k.refs[id]
	if r == nil {
		r = &typeRef{id: id}
		k.refs[id] = r
	}
	return r
}

// allocatedAs: types whose objects are always allocated as another, larger type
// (go1.26 time/sleep.go, newTimer; runtime/time.go, timeTimer).
var allocatedAs = map[string]string{
	"time.Timer":  "runtime.timeTimer",
	"time.Ticker": "runtime.timeTimer",
}

// byID returns a type of the debug information.
func (k *typeMaker) byID(id debuginfo.TypeID) *Type {
	if id == 0 {
		return nil
	}
	if t := k.byOrigin[id]; t != nil {
		return t
	}
	if k.nested > maxDepth {
		return nil
	}
	d := k.names.Type(id)
	if isShaped(d.Name) {
		if i := k.instance(id, d); i != id {
			t := k.byID(i)
			k.byOrigin[id] = t
			return t
		}
	}
	t := &Type{Name: d.Name, shaped: isShaped(d.Name), Kind: d.Kind, Size: uint64(max(d.Size, 0)), elem: d.Elem, key: d.Key, origin: id}
	k.byOrigin[id] = t
	k.add(t)
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

// maxOps bounds the references of one value, arrays counted once: what a type hides beyond is untyped.
const maxOps = 1 << 20

// maxDepth bounds the nesting of structs and arrays in one value, and that of arrays and channels in each other.
const maxDepth = 64

// compile appends the references of d, which lies at an offset of t under a label.
func (k *typeMaker) compile(t *Type, d debuginfo.Type, off uint64, label string, depth int) {
	if depth > maxDepth || len(t.ops) > maxOps || d.Size == 0 {
		return
	}
	if kind, target, ok := k.reference(d); ok {
		t.ops = append(t.ops, op{off: off, kind: kind, label: label, ref: k.ref(target)})
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
		t.ops = append(t.ops, op{off: off, kind: opArray, label: label, typ: elem, n: uint64(d.Len)})
	case reflect.Struct:
		if hasPrefix(d.Name, trieMapPrefix) || hasPrefix(d.Name, canonMapPrefix) {
			k.compileTrie(t, d, off, label, depth)
			return
		}
		for _, f := range d.Fields {
			if f.Name == "_" || f.Offset < 0 {
				continue
			}
			name := joinLabel(label, fieldLabel(d.Name, f.Name))
			if transparent(d.Name, f.Name) {
				name = label
			}
			if kind, target, ok := k.understood(d, f); ok {
				t.ops = append(t.ops, op{off: off + uint64(f.Offset), kind: kind, label: name, ref: k.ref(target)})
				continue
			}
			k.compile(t, k.names.Type(f.Type), off+uint64(f.Offset), name, depth+1)
		}
	}
}

// reference tells which sort of reference values of a type are, and the type that a walk needs to know of: what it refers to, or
// that of a map, channel or func itself.
func (k *typeMaker) reference(d debuginfo.Type) (kind opKind, target debuginfo.TypeID, ok bool) {
	switch d.Kind {
	case reflect.Pointer:
		if hasPrefix(d.Name, shapePrefix) {
			return opUnsafe, 0, true // any pointer
		}
		return opPointer, d.Elem, !k.notInHeap(d.Elem, 0)
	case reflect.UnsafePointer:
		return opUnsafe, 0, true
	case reflect.String:
		return opString, 0, true
	case reflect.Slice:
		return opSlice, d.Elem, true
	case reflect.Interface:
		if d.HasMethodsIface {
			return opIface, 0, true
		}
		return opEface, 0, true
	case reflect.Map:
		return opMap, d.ID, true
	case reflect.Chan:
		return opChan, d.ID, true
	case reflect.Func:
		return opFunc, d.ID, true
	case reflect.Struct:
		switch d.Name {
		case "reflect.Value":
			return opReflect, 0, true
		case "sync.eface":
			return opPooled, 0, true
		}
	}
	return 0, 0, false
}

// notInHeap reports whether a type is marked as living outside of the collected heap; pointers to it
// are no pointers to the collector (go1.26 internal/runtime/sys/nih.go).
func (k *typeMaker) notInHeap(id debuginfo.TypeID, depth int) bool {
	if id == 0 || depth > 4 {
		return false
	}
	d := k.names.TypeHead(id)
	if d.Name == "internal/runtime/sys.NotInHeap" || d.Name == "internal/runtime/sys.nih" {
		return true
	}
	if d.Kind != reflect.Struct || !isRuntime(PackageOf(d.Name)) {
		return false
	}
	for _, f := range k.names.Type(id).Fields {
		if f.Offset == 0 && k.notInHeap(f.Type, depth+1) {
			return true
		}
	}
	return false
}

// fieldLabel is a field's name, but that both directions of a container/list are one: what hangs on a list would
// else be split where the ways from its ends meet.
func fieldLabel(typeName, field string) string {
	if typeName == "container/list.Element" && field == "prev" {
		return "next"
	}
	return field
}

// transparent fields carry no name of their own in paths: the types are wrappers of one value.
func transparent(typeName, field string) bool {
	switch field {
	case "m":
		return typeName == "sync.Map"
	case "v":
		return typeName == "sync/atomic.Value" || hasPrefix(typeName, "sync/atomic.Pointer[")
	}
	return false
}

// number gives each reference its order number and lists the pointer words.
func (k *typeMaker) number(t *Type) {
	ords := uint32(0)
	for i := range t.ops {
		t.ops[i].ord = ords
		if t.ops[i].kind == opArray {
			ords += t.ops[i].typ.ords * uint32(min(t.ops[i].n, maxElems+1))
		} else {
			ords++
		}
	}
	t.ords = ords
	var words []uint32
	if t.pointerWords(0, &words) {
		t.words = words
		for _, w := range words {
			if w < 64 {
				t.mask |= 1 << w
			}
		}
	}
}

// pointerWords appends the word indexes of a type's pointers; false if there are too many.
func (t *Type) pointerWords(base uint64, words *[]uint32) bool {
	for i := range t.ops {
		o := &t.ops[i]
		switch o.kind {
		case opArray:
			for k := uint64(0); k < o.n; k++ {
				if !o.typ.pointerWords(base+o.off+k*o.typ.Size, words) {
					return false
				}
			}
		case opReflect, opPooled:
			*words = append(*words, uint32((base+o.off)/8), uint32((base+o.off)/8+1))
		case opIface, opEface:
			// The first word leads to type information, which the collector need not follow (go1.26
			// cmd/compile/internal/typebits/typebits.go).
			*words = append(*words, uint32((base+o.off)/8+1))
		default:
			*words = append(*words, uint32((base+o.off)/8))
		}
		if len(*words) > maxWords {
			return false
		}
	}
	return true
}

// bytes makes the element type of strings.
func (k *typeMaker) bytes() *Type {
	if id, ok := k.names.TypeByName("uint8"); ok {
		return k.byID(id)
	}
	return k.add(&Type{Name: "uint8", Size: 1})
}
