package heaptype

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// trieLayout is the layout of the nodes of an internal/sync.HashTrieMap, which sync.Map is made of
// (go1.26 and go1.27 internal/sync/hashtriemap.go): indirect nodes with 16 children, and entries
// with a key, a value and a chain of entries with the same hash. The first field of a node tells
// the two sorts apart. The tables of package unique have the same nodes, but their entries have no
// value and refer to the key weakly (unique/canonmap.go). Which nodes exist depends on the hash
// seed, so nodes count with the map, as bytes.
type trieLayout struct {
	children, childCount uint64 // of an indirect node
	overflow             uint64 // of an entry
	key, val             *Type
	keyAt, valAt         uint64
}

const (
	TrieMapPrefix  = "internal/sync.HashTrieMap["
	canonMapPrefix = "unique.canonMap["
	maxTrieDepth   = 64 / 4 // four bits of the hash a level
)

// unknownTrie stands for a layout that the debug information lacks.
var unknownTrie = new(trieLayout)

// IsTrie reports whether values of a type are counted as one object with the memory below them,
// like maps.
func IsTrie(name string) bool {
	return name == "sync.Map" || strings.HasPrefix(name, TrieMapPrefix) || strings.HasPrefix(name, canonMapPrefix)
}

// trieLayout finds the layout of the nodes of a HashTrieMap type, unknownTrie if the debug
// information lacks it.
func (k *maker) trieLayout(t *Type) *trieLayout {
	l := newIn[trieLayout](k.program)
	l.overflow = 8
	for _, f := range k.names.Type(k.rootNode(t.Origin)).Fields {
		if f.Name == "children" {
			l.children, l.childCount = uint64(f.Offset), uint64(max(k.names.Type(f.Type).Len, 0))
		}
	}
	if strings.HasPrefix(t.Name, canonMapPrefix) {
		// struct { isEntry bool; overflow pointer; key weak.Pointer[T]; hash uintptr }
		id, _ := k.names.TypeByName("internal/runtime/atomic.Uintptr")
		l.key = newIn[Type](k.program)
		k.addOp(l.key, Op{Kind: opPointer, lazy: k.ref(id)})
		k.number(l.key)
		l.val, l.keyAt, l.valAt = newIn[Type](k.program), 16, 24
		return l
	}
	// go1.27 omits the entry type itself. Its layout is computed from its parts:
	// struct { isEntry bool; overflow pointer; key K; value V }.
	keyName, valName, ok := cutTypeArgs(strings.TrimSuffix(t.Name[len(TrieMapPrefix):], "]"))
	if !ok || l.childCount == 0 {
		return unknownTrie
	}
	key, okKey := k.names.TypeByName(keyName)
	val, okVal := k.names.TypeByName(valName)
	if !okKey || !okVal {
		return unknownTrie
	}
	l.key, l.val = k.byID(key), k.byID(val)
	l.keyAt = alignUp(16, k.align(k.names.Type(key), 0))
	l.valAt = alignUp(l.keyAt+l.key.Size, k.align(k.names.Type(val), 0))
	return l
}

// rootNode returns the type of the root node of a trie.
func (k *maker) rootNode(trie debuginfo.TypeID) debuginfo.TypeID {
	for _, f := range k.names.Type(trie).Fields {
		if f.Name != "root" {
			continue
		}
		pointer := k.names.Type(f.Type)
		for _, f := range pointer.Fields {
			if _, node, ok := k.hiddenReference(pointer, f); ok {
				return node
			}
		}
	}
	return 0
}

// cutTypeArgs splits "K,V" at the comma that is in no bracket.
func cutTypeArgs(args string) (key, val string, ok bool) {
	depth := 0
	for i := range len(args) {
		switch args[i] {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			depth--
		case ',':
			if depth == 0 {
				return args[:i], args[i+1:], true
			}
		}
	}
	return "", "", false
}

func alignUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// align returns the alignment of a type on 64-bit systems.
func (k *maker) align(d debuginfo.Type, depth int) uint64 {
	if depth > maxDepth {
		return 8
	}
	switch d.Kind {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return 1
	case reflect.Int16, reflect.Uint16:
		return 2
	case reflect.Int32, reflect.Uint32, reflect.Float32, reflect.Complex64:
		return 4
	case reflect.Array:
		return k.align(k.names.Type(d.Elem), depth+1)
	case reflect.Struct:
		a := uint64(1)
		for _, f := range d.Fields {
			if a = max(a, k.align(k.names.Type(f.Type), depth+1)); a == 8 {
				break
			}
		}
		return a
	}
	return 8
}

// compileTrie appends the references of a HashTrieMap: its root stands for the whole map.
func (k *maker) compileTrie(t *Type, d debuginfo.Type, off uint64, label string, depth int) {
	for _, f := range d.Fields {
		if f.Name == "root" {
			k.addOp(t, Op{Offset: off + uint64(f.Offset), Kind: opTrie, label: label, lazy: k.ref(d.ID)})
			continue
		}
		k.compile(t, k.names.Type(f.Type), off+uint64(f.Offset), JoinLabel(label, f.Name), depth+1)
	}
}
