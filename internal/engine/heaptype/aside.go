package heaptype

// A Portion is a part of a large array or map, so that several goroutines can walk one object.
type Portion struct {
	typ    *Type      // of an array's elements
	layout *mapLayout // of the map whose directory it is, else nil
	mem    []byte     // elements, or entries of the directory
	first  uint64     // index of the first of them
}

// An Aside collects what a walker sets aside: the large arrays and maps of the objects that it
// walks, in portions. A nil Aside collects nothing; its walker walks large objects at once.
type Aside struct {
	List  []Portion
	Sizes PortionSizes
}

// PortionSizes say how large portions are; 0 stands for the default.
type PortionSizes struct {
	Array     uint64 // bytes of an array
	Directory uint64 // entries of a map's directory, each of which is a table of up to 1,024 slots
}

const (
	arrayPortion     = 1 << 16
	directoryPortion = 8
)

// maxPortions bounds the list: in a damaged heap many maps could have one directory.
const maxPortions = 1 << 16

func (a *Aside) arrayPortion() uint64 {
	if a.Sizes.Array != 0 {
		return a.Sizes.Array
	}
	return arrayPortion
}

func (a *Aside) directoryPortion() uint64 {
	if a.Sizes.Directory != 0 {
		return a.Sizes.Directory
	}
	return directoryPortion
}

// dividesArray reports whether an array of so many bytes is worth several portions.
func (a *Aside) dividesArray(n int, elem *Type) bool {
	return a != nil && uint64(n) >= 2*a.arrayPortion() && elem.Size <= a.arrayPortion() && len(a.List) < maxPortions
}

// dividesDirectory reports whether a directory of so many bytes is worth several portions.
func (a *Aside) dividesDirectory(n int) bool {
	return a != nil && uint64(n) >= 2*8*a.directoryPortion() && len(a.List) < maxPortions
}

// array sets an array aside.
func (a *Aside) array(elem *Type, mem []byte) {
	a.add(Portion{typ: elem, mem: mem}, a.arrayPortion()/elem.Size, elem.Size)
}

// directory sets the tables of a map aside.
func (a *Aside) directory(l *mapLayout, tables []byte) {
	a.add(Portion{layout: l, mem: tables}, a.directoryPortion(), 8)
}

// add makes portions of n values of a size each.
func (a *Aside) add(p Portion, n, size uint64) {
	for mem := p.mem; len(mem) > 0; p.first += n {
		k := min(n*size, uint64(len(mem)))
		p.mem, mem = mem[:k], mem[k:]
		a.List = append(a.List, p)
	}
}

// TakeAll moves all portions to the end of a list.
func (a *Aside) TakeAll(list []Portion) []Portion {
	if a != nil {
		list = append(list, a.List...)
		a.List = a.List[:0]
	}
	return list
}
