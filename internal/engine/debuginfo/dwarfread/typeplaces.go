package dwarfread

import (
	"github.com/leakgate/leakgate/internal/engine/debuginfo/program"
)

// typePlaces finds types by where their entries are in .debug_info. Entries are millions in a large
// program, and each is asked for several times: so the places are a sorted list, with the position
// of the first one of every page.
type typePlaces struct {
	places []typePlace
	pages  []uint32       // index in places of the first one in the page or behind it
	types  program.TypeID // how many have been added
}

type typePlace struct {
	off   dieOffset
	alias dieOffset      // not 0: another name for the type there
	id    program.TypeID // if it is none
}

// pageBits makes pages of 256 bytes, in which two or three types are.
const pageBits = 8

// reserve says how many entries will be added.
func (t *typePlaces) reserve(n int) { t.places = make([]typePlace, 0, n) }

// add numbers a type, in the order of the file.
func (t *typePlaces) add(off, alias dieOffset) {
	p := typePlace{off: off, alias: alias}
	if alias == 0 {
		t.types++
		p.id = t.types
	}
	t.places = append(t.places, p)
}

// complete prepares for find.
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

// find returns the type at an offset, 0 if there is none. It follows aliases; the bound stops at a
// cycle in damaged data.
func (t *typePlaces) find(off dieOffset) program.TypeID {
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
