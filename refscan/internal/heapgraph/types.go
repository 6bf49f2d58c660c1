package heapgraph

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
	"github.com/leakgate/leakgate/refscan/internal/goruntime"
)

// Names is the part of the debug information that typing and naming need. Addresses are link-time
// ones.
type Names interface {
	goruntime.Names
	NumTypes() int
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

// op is a reference, or an array of parts with references, at an offset of a type.
type op struct {
	off   uint64
	kind  opKind
	label string // field path, "" for the value itself
	typ   *Type  // what it refers to: pointee, slice or array element, the map or channel type
	n     uint64 // opArray: number of elements
	ord   uint32 // of its (first) reference; see Type.ords
}

// Type is a type as the walk needs it: the references in it, flattened, in order of offset.
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
	entry  uint64   // closures: address of the function, in the process

	captures []debuginfo.Capture // closures: what they hold
	whole    *Type               // closures: with what their variables leave out
	bound    []boundType         // closures: by dictionary or static type
	doubtful bool                // closures: a variable that seems to be captured by reference may lie in the closure itself
	layout   *mapLayout

	trie     *trieLayout // of a HashTrieMap
	noTrie   bool
	shaped   bool  // it or a part of it is known by its shape only
	chanElem *Type // channels: for naming
	chanHead *Type

	turn   class // when its objects may be claimed; valid if turned
	turned bool

	ending      ending // how its objects end; valid if endingKnown
	endingKnown bool
}

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

func dotted(s string) string {
	if s == "" || s[0] == '[' {
		return s
	}
	return "." + s
}

// typeTable interns types by their number in the debug information, and closures by function.
type typeTable struct {
	names    Names
	m        *goruntime.Model
	types    []*Type // by Type.index; 0 is unused
	byOrigin map[debuginfo.TypeID]*Type
	closures map[uint64]*Type
	byRType  map[uint64]*Type
	nested   int // how many types byID is in the course of making
	byteType *Type
	chanType *Type

	instances map[string][]debuginfo.TypeID // instantiations of generic types, by generic name
	layouts   []debuginfo.Type              // what closures are allocated as
	structs   []structType                  // the other struct types

	enclosures map[enclosure]*Type
}

func newTypeTable(m *goruntime.Model, names Names) *typeTable {
	return &typeTable{
		names: names, m: m, types: []*Type{nil},
		byOrigin: make(map[debuginfo.TypeID]*Type),
		closures: make(map[uint64]*Type),
		byRType:  make(map[uint64]*Type),

		enclosures: make(map[enclosure]*Type),
	}
}

func (tt *typeTable) add(t *Type) *Type {
	t.index = int32(len(tt.types))
	tt.types = append(tt.types, t)
	return t
}

// allocatedAs: types whose objects are always allocated as another, larger type
// (go1.26 time/sleep.go, newTimer; runtime/time.go, timeTimer).
var allocatedAs = map[string]string{
	"time.Timer":  "runtime.timeTimer",
	"time.Ticker": "runtime.timeTimer",
}

// byID returns a type of the debug information.
func (tt *typeTable) byID(id debuginfo.TypeID) *Type {
	if id == 0 {
		return nil
	}
	if t := tt.byOrigin[id]; t != nil {
		return t
	}
	if tt.nested > maxDepth {
		return nil
	}
	d := tt.names.Type(id)
	if isShaped(d.Name) {
		if i := tt.instance(id, d); i != id {
			t := tt.byID(i)
			tt.byOrigin[id] = t
			return t
		}
	}
	t := &Type{Name: d.Name, shaped: isShaped(d.Name), Kind: d.Kind, Size: uint64(max(d.Size, 0)), elem: d.Elem, key: d.Key, origin: id}
	tt.byOrigin[id] = t
	tt.add(t)
	layout := d
	if as, ok := allocatedAs[d.Name]; ok {
		if real, found := tt.names.TypeByName(as); found {
			layout = tt.names.Type(real)
			t.Size = uint64(layout.Size)
		}
	}
	tt.nested++
	if t.Kind == reflect.Chan {
		t.chanElem, t.chanHead = tt.byID(d.Elem), tt.hchan()
	}
	tt.compile(t, layout, 0, "", 0)
	tt.nested--
	tt.number(t)
	return t
}

// named returns the type of that name, nil if there is none.
func (tt *typeTable) named(name string) *Type {
	id, _ := tt.names.TypeByName(name)
	return tt.byID(id)
}

// maxOps bounds the references of one value, arrays counted once: what a type hides beyond is untyped.
const maxOps = 1 << 20

// maxDepth bounds the nesting of structs and arrays in one value, and that of arrays and channels in each other.
const maxDepth = 64

// compile appends the references of d, which lies at an offset of t under a label.
func (tt *typeTable) compile(t *Type, d debuginfo.Type, off uint64, label string, depth int) {
	if depth > maxDepth || len(t.ops) > maxOps || d.Size == 0 {
		return
	}
	add := func(kind opKind, at uint64, target *Type, n uint64) {
		t.ops = append(t.ops, op{off: at, kind: kind, label: label, typ: target, n: n})
	}
	switch d.Kind {
	case reflect.Pointer:
		switch {
		case strings.HasPrefix(d.Name, shapePrefix):
			add(opUnsafe, off, nil, 0) // any pointer
		case !tt.notInHeap(d.Elem, 0):
			add(opPointer, off, nil, uint64(d.Elem))
		}
	case reflect.UnsafePointer:
		add(opUnsafe, off, nil, 0)
	case reflect.String:
		add(opString, off, nil, 0)
	case reflect.Slice:
		add(opSlice, off, nil, uint64(d.Elem))
	case reflect.Interface:
		if d.HasMethodsIface {
			add(opIface, off, nil, 0)
		} else {
			add(opEface, off, nil, 0)
		}
	case reflect.Map:
		add(opMap, off, nil, uint64(d.ID))
	case reflect.Chan:
		add(opChan, off, nil, uint64(d.ID))
	case reflect.Func:
		add(opFunc, off, nil, uint64(d.ID))
	case reflect.Array:
		elem := tt.byID(d.Elem)
		if elem == nil || !elem.HasPointers() || elem.Size == 0 || d.Len <= 0 {
			return
		}
		if d.Len == 1 {
			tt.compile(t, tt.names.Type(d.Elem), off, label+"[0]", depth+1)
			return
		}
		add(opArray, off, elem, uint64(d.Len))
	case reflect.Struct:
		switch {
		case strings.HasPrefix(d.Name, trieMapPrefix), strings.HasPrefix(d.Name, canonMapPrefix):
			tt.compileTrie(t, d, off, label, depth)
			return
		case d.Name == "reflect.Value":
			add(opReflect, off, nil, 0)
			return
		case d.Name == "sync.eface":
			add(opPooled, off, nil, 0)
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
			if kind, target, ok := tt.understood(d, f); ok {
				t.ops = append(t.ops, op{off: off + uint64(f.Offset), kind: kind, label: name, n: uint64(target)})
				continue
			}
			tt.compile(t, tt.names.Type(f.Type), off+uint64(f.Offset), name, depth+1)
		}
	}
}

// notInHeap reports whether a type is marked as living outside of the collected heap; pointers to it
// are no pointers to the collector (go1.26 internal/runtime/sys/nih.go).
func (tt *typeTable) notInHeap(id debuginfo.TypeID, depth int) bool {
	if id == 0 || depth > 4 {
		return false
	}
	d := tt.names.Type(id)
	if d.Name == "internal/runtime/sys.NotInHeap" || d.Name == "internal/runtime/sys.nih" {
		return true
	}
	if d.Kind != reflect.Struct || !isRuntime(PackageOf(d.Name)) {
		return false
	}
	for _, f := range d.Fields {
		if f.Offset == 0 && tt.notInHeap(f.Type, depth+1) {
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
		return typeName == "sync/atomic.Value" || strings.HasPrefix(typeName, "sync/atomic.Pointer[")
	}
	return false
}

// target resolves what a reference of a type refers to. It is lazy, since types refer to themselves.
func (tt *typeTable) target(o *op) *Type {
	if o.typ == nil && o.n != 0 && o.kind != opArray {
		o.typ = tt.byID(debuginfo.TypeID(o.n))
	}
	return o.typ
}

// number gives each reference its order number and lists the pointer words.
func (tt *typeTable) number(t *Type) {
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
