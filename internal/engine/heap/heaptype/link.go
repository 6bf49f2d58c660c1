package heaptype

import (
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// A Link is how a reference ties its target to its holder.
type Link struct {
	// Crosses says that the reference leads to another thing: it is a pointer, an interface or a
	// func in a field. Otherwise the target is a part of the holder: what a variable or an element
	// itself refers to, the memory of a slice, string, map or channel, or the next node of a list
	// or tree.
	Crosses bool
	// Element says that the reference lies in an element of a map, slice, array or channel.
	Element bool
}

// LinkOf returns the link of reference ref in an object of a typing.
func LinkOf(t *Type, f Layout, ref uint32) Link {
	switch {
	case ref == RefInternal:
		return Link{}
	case ref >= RefEntry || t == nil:
		return Link{Crosses: true}
	case f == LayoutArray:
		return t.link(ref % t.Refs).inElement()
	case f == LayoutMap:
		return entryLink(t.layout.Load().Key, t.layout.Load().Val, ref)
	case f == LayoutTrie:
		return entryLink(t.trie.Load().key, t.trie.Load().val, ref)
	case f == LayoutChan && ref < chanRefs(t.chanElem):
		return t.chanElem.link(ref % t.chanElem.Refs).inElement()
	case f == LayoutChan: // who waits for the channel
		return Link{Crosses: true}
	}
	return t.link(ref)
}

func entryLink(key, val *Type, ref uint32) Link {
	if ref < key.Refs {
		return key.link(ref).inElement()
	}
	return val.link(ref - key.Refs).inElement()
}

func (l Link) inElement() Link {
	l.Element = true
	return l
}

// link is the link of reference number ref of the type.
func (t *Type) link(ref uint32) Link {
	for i := len(t.Ops) - 1; i >= 0; i-- {
		o := &t.Ops[i]
		if o.Ref > ref {
			continue
		}
		if o.Kind == OpArray {
			return o.Type.link((ref - o.Ref) % o.Type.Refs).inElement()
		}
		return Link{Crosses: o.label != "" && o.leads()}
	}
	return Link{Crosses: true}
}

// leads reports whether a reference of that sort leads to another thing if it lies in a field.
func (o *Op) leads() bool {
	switch o.Kind {
	case opString, opSlice, opCounted, opMap, opChan, opHchan, opTrie:
		return false
	}
	return true
}

// LinkOfRoot returns the link of a reference that a root holds. label is the part of the variable
// that holds it, and target how the object that it leads to is to be read.
func LinkOfRoot(label string, target Layout) Link {
	last := label[strings.LastIndexByte(label, '.')+1:]
	entry := strings.HasPrefix(last, "$map") // of a map whose header lies in the variable
	field := label != "" && label != "~" && !strings.HasSuffix(label, "]") && !entry
	own := target == LayoutArray || target == LayoutString || target == LayoutMap || target == LayoutTrie || target == LayoutChan
	return Link{Crosses: field && !own, Element: strings.Contains(label, "[") || strings.Contains(label, "$map")}
}

// Joins reports whether objects of a type are the parts of a container: nodes of a list of package
// container, or what a sync.Pool or sync.Map consists of. References to them, and from them to what
// the container holds, cross nothing.
func (t *Type) Joins() bool {
	switch symbol.Package(t.Name) {
	case "container/list", "container/ring", "internal/sync":
		return true
	case "sync":
		return strings.HasPrefix(t.Name, "sync.pool") || strings.HasPrefix(t.Name, "sync.Map")
	}
	return false
}
