package heapgraph

// A portion is a part of a large array or map, so that several goroutines can walk one object.
type portion struct {
	holder
	typ    *Type      // of an array's elements
	layout *mapLayout // of the map whose directory it is, else nil
	mem    []byte     // elements, or entries of the directory
	first  uint64     // index of the first of them
}

// portions are what a walker sets aside. In attribution, holder tells whose objects it walks.
type portions struct {
	holder
	list []portion
}

// A holder is a node, or those objects of it that are of another type, and the task that walks them.
type holder struct {
	node  *Node
	guest bool
	task  int
}

// An array's portion has so many bytes, a map's so many entries of its directory, each of which is a table of up to 1,024 slots.
// Tests change them.
var (
	arrayPortion     uint64 = 1 << 16
	directoryPortion uint64 = 8
)

// maxPortions bounds the list: in a damaged heap many maps could have one directory.
const maxPortions = 1 << 16

// divides reports whether n bytes, which are worth several portions of a size, are to be set aside.
func (a *portions) divides(n int, size uint64) bool {
	return a != nil && uint64(n) >= 2*size && len(a.list) < maxPortions
}

// add makes portions of n values of a size each.
//
//go:noinline
func (a *portions) add(p portion, n, size uint64) {
	p.holder = a.holder
	for mem := p.mem; len(mem) > 0; p.first += n {
		k := min(n*size, uint64(len(mem)))
		p.mem, mem = mem[:k], mem[k:]
		a.list = append(a.list, p)
	}
}

// moveTo moves all to the end of a list.
//
//go:noinline
func (a *portions) moveTo(list []portion) []portion {
	if a != nil {
		list = append(list, a.list...)
		a.list = a.list[:0]
	}
	return list
}

// portion walks what was set aside.
func (w *walker) portion(p *portion) {
	if p.layout == nil {
		w.elements(p.typ, p.mem, p.first)
		return
	}
	for at := uint64(0); at+8 <= uint64(len(p.mem)); at += 8 {
		if groups, n := w.table(word(p.mem, at), p.first+at/8); groups != 0 {
			w.groups(p.layout, groups, n, true)
		}
	}
}
