package heaptype

// trieMap walks a HashTrieMap from its root node.
func (w *Walker) trieMap(t *Type, root []byte) {
	if l := w.Types.trieLayout(t); l != nil {
		left := w.Types.Model.NumObjects
		w.trieNode(l, root, 0, &left)
	}
}

// trieNode walks a node. left bounds the number of nodes: a trie has no more nodes than the heap
// has objects. A damaged trie may contain a cycle; its walk ends when left is 0.
func (w *Walker) trieNode(l *trieLayout, mem []byte, depth int, left *uint32) {
	if depth > maxTrieDepth {
		return
	}
	for i := uint64(0); i < l.childCount; i++ {
		child := Word(mem, l.children+8*i)
		if child == 0 {
			continue
		}
		node := w.trieMemory(child)
		if node == nil || *left == 0 {
			continue
		}
		if node[0] == 0 {
			*left--
			w.Emit(Edge{Ref: RefInternal, To: child, Layout: LayoutInternal, Confidence: FromOwner})
			w.trieNode(l, node, depth+1, left)
			continue
		}
		for *left > 0 && node != nil && uint64(len(node)) >= l.valAt+l.val.Size {
			w.Emit(Edge{Ref: RefInternal, To: child, Layout: LayoutInternal, Confidence: FromOwner})
			w.Entries++
			*left--
			w.Value(l.key, node[l.keyAt:], 0)
			w.Value(l.val, node[l.valAt:], l.key.Refs)
			if child = Word(node, l.overflow); child == 0 {
				break
			}
			node = w.trieMemory(child)
		}
	}
}

func (w *Walker) trieMemory(addr uint64) []byte {
	s, obj := w.Types.Model.Object(addr)
	if s == nil || s.NoScan {
		return nil
	}
	mem, start := Payload(s, obj)
	if start != addr || len(mem) == 0 {
		return nil
	}
	return mem
}
