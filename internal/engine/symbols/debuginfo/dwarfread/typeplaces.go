package dwarfread

import "github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"

// typePlaces finds types by the offsets of their entries in .debug_info. A large program has
// millions of entries of types, and each is looked up several times. So places is a list sorted by
// offset, and pages has the index of each page's first entry.
type typePlaces struct {
	places []typePlace
	pages  []uint32        // by page: index in places of its first entry, or of the next one
	types  symindex.TypeID // the number of types added
}

type typePlace struct {
	off   dieOffset
	alias dieOffset       // not 0: another name for the type there
	id    symindex.TypeID // of the type, if alias is 0
}

// pageBits makes pages of 256 bytes, which hold two or three types.
const pageBits = 8

// reserve makes room for n entries.
func (t *typePlaces) reserve(n int) { t.places = make([]typePlace, 0, n) }

// add records the entry of a type, and numbers the type unless the entry is an alias. Entries are
// added in the order of the file.
func (t *typePlaces) add(off, alias dieOffset) {
	p := typePlace{off: off, alias: alias}
	if alias == 0 {
		t.types++
		p.id = t.types
	}
	t.places = append(t.places, p)
}

// complete makes the index of pages that find needs.
func (t *typePlaces) complete() {
	if len(t.places) == 0 {
		return
	}
	last := t.places[len(t.places)-1].off >> pageBits
	t.pages = make([]uint32, 0, last+2)
	for i := range t.places {
		for page := int(t.places[i].off >> pageBits); len(t.pages) <= page; {
			t.pages = append(t.pages, uint32(i))
		}
	}
	t.pages = append(t.pages, uint32(len(t.places)))
}

// find returns the type at an offset, 0 if there is none. It follows aliases, at most 16, since
// damaged data may have a cycle.
func (t *typePlaces) find(off dieOffset) symindex.TypeID {
	for range 16 {
		p := t.at(off)
		if p == nil {
			return 0
		}
		if p.alias == 0 {
			return p.id
		}
		off = p.alias
	}
	return 0
}

func (t *typePlaces) at(off dieOffset) *typePlace {
	page := int(off >> pageBits)
	if page+1 >= len(t.pages) {
		return nil
	}
	for i := t.pages[page]; i < t.pages[page+1]; i++ {
		if t.places[i].off == off {
			return &t.places[i]
		}
	}
	return nil
}
