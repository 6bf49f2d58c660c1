package heaptype

// A Portion is a part of a large array or map, so that several goroutines can walk one object.
type Portion struct {
	typ    *Type      // of an array's elements
	layout *mapLayout // the map's layout, if mem is part of its directory; nil for an array
	mem    []byte     // elements, or entries of the directory
	first  uint64     // index of the first element or entry
}

// An Aside collects portions of the large arrays and maps that a walker meets, to be walked later.
// With a nil Aside the walker walks large objects at once.
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

// maxPortions bounds Aside.List: in a damaged heap many maps could share one directory.
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

// dividesArray reports whether an array of n bytes is large enough for several portions.
func (a *Aside) dividesArray(n int, elem *Type) bool {
	return a != nil && uint64(n) >= 2*a.arrayPortion() && elem.Size <= a.arrayPortion() && len(a.List) < maxPortions
}

// dividesDirectory reports whether a directory of n bytes is large enough for several portions.
func (a *Aside) dividesDirectory(n int) bool {
	return a != nil && uint64(n) >= 2*8*a.directoryPortion() && len(a.List) < maxPortions
}

// array adds an array to the list, in portions.
func (a *Aside) array(elem *Type, mem []byte) {
	a.add(Portion{typ: elem, mem: mem}, a.arrayPortion()/elem.Size, elem.Size)
}

// directory adds the tables of a map to the list, in portions.
func (a *Aside) directory(l *mapLayout, tables []byte) {
	a.add(Portion{layout: l, mem: tables}, a.directoryPortion(), 8)
}

// add divides p into portions of n values each; size is that of one value, in bytes.
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
