// Package heaptype knows the types of a program as a walk over memory needs them: the references
// that values of a type hold, where they lie, and what they lead to. A Table makes types from debug
// information and from run-time descriptors; a Walker finds the references in memory of known type.
package heaptype

import (
	"reflect"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// opKind is a sort of reference in memory.
type opKind uint8

const (
	opPointer opKind = iota
	OpUnsafe         // unsafe.Pointer: the type of the target is unknown
	opString
	opSlice
	opCounted // a pointer to elements, and how many there are
	OpIface   // with methods: itab, data
	OpEface   // without: type, data
	opMap
	opChan
	opHchan // a channel in the runtime's own code, where its type is in its memory
	opFunc
	opTrie    // the root of an internal/sync.HashTrieMap
	OpReflect // a reflect.Value: type, pointer or value, flags
	// a sync.eface: an interface whose words are both unsafe.Pointers (go1.26 sync/poolqueue.go)
	OpPooled
	OpArray // Len elements of type Type, in place
)

// isWord reports whether references of that sort are one word.
func (k opKind) isWord() bool {
	switch k {
	case opPointer, OpUnsafe, opMap, opChan, opHchan, opFunc, opTrie:
		return true
	}
	return false
}

// Op is a reference, or an array of parts with references, at an offset of a type.
type Op struct {
	Offset uint64
	Kind   opKind
	label  string // field path, "" for the value itself
	// type of the pointee, of a slice's or array's elements, or of the map or channel; nil if lazy
	// gives it
	Type *Type
	lazy *typeRef // the same, made at first use, since types may refer to themselves
	Len  uint64   // opArray: number of elements
	Ref  uint32   // number of its (first) reference; see Type.Refs
}

// typeRef is a type of the debug information that may not be made yet.
type typeRef struct {
	id debuginfo.TypeID
	t  atomic.Pointer[Type]
}

// An origin is a type of the debug information, and the reference to it.
type origin struct {
	made *Type // nil if it is not made yet; it may not be published
	typeRef
}

// Type is a type as the walk needs it: the references in it, flattened, in order of offset. Once it
// is in the table, only the fields that are filled in at first use change.
type Type struct {
	Index int32
	Name  string // with full import paths
	Kind  reflect.Kind
	Size  uint64
	Ops   []Op
	// number of distinguishable references: array elements 0 to 9, and the rest as one
	Refs   uint32
	Elem   debuginfo.TypeID
	key    debuginfo.TypeID
	Origin debuginfo.TypeID
	Words  []uint32 // indexes of its pointer words, up to maxWords; nil if there are more
	Mask   uint64   // pointer mask of its first 64 words, if Words is not nil
	entry  uint64   // closures: address of the function, in the process
	// closures, and types that are variant at run time: which variant of this name
	variant variant

	captures []debuginfo.Capture // closures: what they hold
	receiver *debuginfo.Capture  // closures of method values in shaped code, by function: see methodValue
	// closures: a variable that seems to be captured by reference may lie in the closure itself
	doubtful bool
	// closures: the captures are complete, whatever the pointer mask of an object says
	whole    bool
	Shaped   bool  // the name of the type, or of a part of it, is that of a shape
	chanElem *Type // channels: for naming
	chanHead *Type
	channel  atomic.Pointer[Type] // of channels with such elements, nil until it is needed: see channelAt

	IsGroup bool // the type is a group of slots of a map

	direct atomic.Bool // an interface holds values of the type themselves, not pointers to them

	layout   atomic.Pointer[mapLayout]
	trie     atomic.Pointer[trieLayout]  // of a HashTrieMap
	variants atomic.Pointer[typeVariant] // closures
}

// A variant distinguishes closure types of one function: by pointer mask and size of the closures,
// by the dictionary of shaped code, or by the static type of the func. In a type that is made at
// run time, dict is the address of the descriptor.
type variant struct {
	mask, size uint64
	dict       uint64
	fn         debuginfo.TypeID
}

type typeVariant struct {
	variant
	t     *Type
	other *typeVariant // of the same type; nil: there are no more
}

func (t *Type) knownVariant(v variant) *Type {
	for k := t.variants.Load(); k != nil; k = k.other {
		if k.variant == v {
			return k.t
		}
	}
	return nil
}

// Before is an order of types that depends on the types alone, not on their indexes.
func (t *Type) Before(u *Type) bool {
	switch a, b := &t.variant, &u.variant; {
	case t.Name != u.Name:
		return t.Name < u.Name
	case t.Origin != u.Origin:
		return t.Origin < u.Origin
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

// IndexBits is how many bits the index of a type takes, and MaxIndex the largest index.
const (
	IndexBits = 24
	MaxIndex  = 1<<IndexBits - 1
)

// maxElems is how many elements of an array have names of their own.
const maxElems = 10

// maxWords bounds the list of pointer words that typings are checked with.
const maxWords = 64

// HasPointers reports whether the type holds references.
func (t *Type) HasPointers() bool { return len(t.Ops) > 0 }
