package heaptype

import "strconv"

// LabelOf names reference ref of an object of this typing.
func LabelOf(t *Type, f Layout, ref uint32) string {
	switch {
	case ref == RefUnknown || t == nil:
		return "?"
	case ref == RefEntry:
		return "$mapval"
	case f == LayoutArray:
		return elemLabel(ref/t.Refs) + dotted(t.Label(ref%t.Refs))
	case f == LayoutMap:
		l := t.layout.Load()
		if ref < l.Key.Refs {
			return "$mapkey" + dotted(l.Key.Label(ref))
		}
		return "$mapval" + dotted(l.Val.Label(ref-l.Key.Refs))
	case f == LayoutTrie:
		l := t.trie.Load()
		if ref < l.key.Refs {
			return "$mapkey" + dotted(l.key.Label(ref))
		}
		return "$mapval" + dotted(l.val.Label(ref-l.key.Refs))
	case f == LayoutChan:
		return chanLabel(t, ref)
	}
	return t.Label(ref)
}

// Label names reference number ref of the type.
func (t *Type) Label(ref uint32) string {
	for i := len(t.Ops) - 1; i >= 0; i-- {
		o := &t.Ops[i]
		if o.Ref > ref {
			continue
		}
		if o.Kind != OpArray {
			return o.label
		}
		rel := ref - o.Ref
		return o.label + elemLabel(rel/o.Type.Refs) + dotted(o.Type.Label(rel%o.Type.Refs))
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

// JoinLabel appends a label to the path of its holder.
func JoinLabel(parent, label string) string {
	if parent == "" || (label != "" && label[0] == '[') {
		return parent + label
	}
	if label == "" {
		return parent
	}
	return parent + "." + label
}
