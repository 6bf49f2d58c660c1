package heapgraph

// A portion is a part of a large array or map, so that several goroutines can walk one object.
type portion struct {
	typ    *Type      // of an array's elements
	layout *mapLayout // of the map whose directory it is, else nil
	mem    []byte     // elements, or entries of the directory
	first  uint64     // index of the first of them
}

// An array's portion has so many bytes, a map's so many entries of its directory, each of which is a table of up to 1,024 slots.
const (
	arrayPortion     = 1 << 16
	directoryPortion = 8
)

// divideArray sets the elements of a large array aside, if somebody asks for that.
func (w *walker) divideArray(t *Type, mem []byte) bool {
	if w.aside == nil || len(mem) < 2*arrayPortion || t.Size > arrayPortion {
		return false
	}
	each := arrayPortion / t.Size
	for k := uint64(0); k*t.Size < uint64(len(mem)); k += each {
		w.aside(portion{typ: t, mem: mem[k*t.Size : min((k+each)*t.Size, uint64(len(mem)))], first: k})
	}
	return true
}

// divideMap sets the entries of a map's directory aside.
func (w *walker) divideMap(l *mapLayout, tables []byte) {
	const each = directoryPortion * 8
	for at := 0; at < len(tables); at += each {
		w.aside(portion{layout: l, mem: tables[at:min(at+each, len(tables))], first: uint64(at / 8)})
	}
}

// portion walks what was set aside.
func (w *walker) portion(p *portion) {
	if p.layout == nil {
		w.elements(p.typ, p.mem, p.first)
		return
	}
	for at := 0; at+8 <= len(p.mem); at += 8 {
		if groups, n := w.table(word(p.mem, uint64(at)), p.first+uint64(at/8)); groups != 0 {
			w.groups(p.layout, groups, n)
		}
	}
}
