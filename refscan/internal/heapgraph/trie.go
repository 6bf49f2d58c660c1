package heapgraph

import (
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/refscan/internal/debuginfo"
)

// trieLayout is the layout of the nodes of an internal/sync.HashTrieMap, which is what sync.Map is made
// of (go1.26 and go1.27 internal/sync/hashtriemap.go): indirect nodes with 16 children, and entries
// with a key, a value and a chain of entries with the same hash. The first field of both tells them
// apart. The tables of package unique are like them, but that an entry has no value and refers to its key weakly (unique/canonmap.go).
// Nodes come and go with the hash seed, so that they are counted with the map, as bytes.
type trieLayout struct {
	children, childCount uint64 // of an indirect node
	overflow             uint64 // of an entry
	key, val             *Type
	keyAt, valAt         uint64
}

const (
	trieMapPrefix  = "internal/sync.HashTrieMap["
	canonMapPrefix = "unique.canonMap["
	maxTrieDepth   = 64 / 4 // four bits of the hash a level
)

// unknownTrie stands for a layout that the debug information lacks.
var unknownTrie = new(trieLayout)

// trieLayout finds the layout of the nodes of a HashTrieMap type, unknownTrie if the debug information lacks
// it.
func (k *typeMaker) trieLayout(t *Type) *trieLayout {
	l := &trieLayout{overflow: 8}
	for _, f := range k.names.Type(k.rootNode(t.origin)).Fields {
		if f.Name == "children" {
			l.children, l.childCount = uint64(f.Offset), uint64(max(k.names.Type(f.Type).Len, 0))
		}
	}
	if hasPrefix(t.Name, canonMapPrefix) {
		// struct { isEntry bool; overflow pointer; key weak.Pointer[T]; hash uintptr }
		id, _ := k.names.TypeByName("internal/runtime/atomic.Uintptr")
		l.key = &Type{ops: []op{{kind: opPointer, ref: k.ref(id)}}}
		k.number(l.key)
		l.val, l.keyAt, l.valAt = &Type{}, 16, 24
		return l
	}
	// go1.27 leaves out the entry type itself, so that its layout is put together from its parts:
	// struct { isEntry bool; overflow pointer; key K; value V }.
	keyName, valName, ok := cutTypeArgs(strings.TrimSuffix(t.Name[len(trieMapPrefix):], "]"))
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
func (k *typeMaker) rootNode(trie debuginfo.TypeID) debuginfo.TypeID {
	for _, f := range k.names.Type(trie).Fields {
		if f.Name != "root" {
			continue
		}
		pointer := k.names.Type(f.Type)
		for _, f := range pointer.Fields {
			if _, node, ok := k.understood(pointer, f); ok {
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

//go:noinline
func alignUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// align returns the alignment of a type on 64-bit systems.
func (k *typeMaker) align(d debuginfo.Type, depth int) uint64 {
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
func (k *typeMaker) compileTrie(t *Type, d debuginfo.Type, off uint64, label string, depth int) {
	for _, f := range d.Fields {
		if f.Name == "root" {
			t.ops = append(t.ops, op{off: off + uint64(f.Offset), kind: opTrie, label: label, ref: k.ref(d.ID)})
			continue
		}
		k.compile(t, k.names.Type(f.Type), off+uint64(f.Offset), joinLabel(label, f.Name), depth+1)
	}
}

// trieMap walks a HashTrieMap from its root node.
func (w *walker) trieMap(t *Type, root []byte) {
	if l := w.g.types.trieLayout(t); l != nil {
		left := w.g.m.NumObjects
		w.trieNode(l, root, 0, &left)
	}
}

// trieNode walks a node. A trie has no more nodes than there are objects; a damaged one whose children are
// their own parents ends when none are left.
func (w *walker) trieNode(l *trieLayout, mem []byte, depth int, left *uint32) {
	if depth > maxTrieDepth {
		return
	}
	for i := uint64(0); i < l.childCount; i++ {
		child := word(mem, l.children+8*i)
		if child == 0 {
			continue
		}
		node := w.trieMemory(child)
		if node == nil || *left == 0 {
			continue
		}
		if node[0] == 0 {
			*left--
			w.emit(edge{ord: ordInternal, to: child, form: formInternal, rank: rankOwned})
			w.trieNode(l, node, depth+1, left)
			continue
		}
		for *left > 0 && node != nil && uint64(len(node)) >= l.valAt+l.val.Size {
			w.emit(edge{ord: ordInternal, to: child, form: formInternal, rank: rankOwned})
			w.used++
			*left--
			w.value(l.key, node[l.keyAt:], 0)
			w.value(l.val, node[l.valAt:], l.key.ords)
			if child = word(node, l.overflow); child == 0 {
				break
			}
			node = w.trieMemory(child)
		}
	}
}

func (w *walker) trieMemory(addr uint64) []byte {
	s, obj := w.g.m.Object(addr)
	if s == nil || s.NoScan {
		return nil
	}
	mem, start := w.g.payload(s, obj)
	if start != addr || len(mem) == 0 {
		return nil
	}
	return mem
}
