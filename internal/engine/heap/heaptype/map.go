package heaptype

// maxDirectory bounds the length of a map's directory, in entries.
const maxDirectory = 1 << 40

// mapHeader walks a map from its header (go1.26 internal/runtime/maps/map.go and table.go).
//
//go:norace
func (w *Walker) mapHeader(t *Type, header []byte) {
	o := &w.Types.Offsets.Map
	l := w.Types.MapLayout(t)
	dir, dirLen := Word(header, uint64(o.Directory)), Word(header, uint64(o.Length))
	if dir == 0 {
		return
	}
	slots := uint64(0)
	if dirLen == 0 {
		slots = w.groups(l, dir, 1, true)
	} else {
		slots = w.tables(l, dir, dirLen)
	}
	// Trust the count in the header only up to the number of slots.
	used := int64(min(Word(header, uint64(o.Used)), slots))
	w.Entries += used
	if l.inline {
		w.InlineEntries += used
	}
}

// tables walks the tables of a directory, and returns how many slots they have.
//
//go:norace
func (w *Walker) tables(l *mapLayout, dir, dirLen uint64) (slots uint64) {
	w.part(dir)
	s, obj := w.Types.Model.Object(dir)
	if s == nil || s.NoScan || dirLen > maxDirectory {
		return 0
	}
	tables, _ := Payload(s, obj)
	tables = tables[:min(dirLen*8, uint64(len(tables)))]
	divided := w.Aside.dividesDirectory(len(tables))
	for i := uint64(0); i*8+8 <= uint64(len(tables)); i++ {
		table := Word(tables, i*8)
		groups, n := w.table(table, i)
		if n == 0 {
			continue
		}
		w.part(table)
		if groups != 0 {
			slots += w.groups(l, groups, n, !divided)
		}
	}
	if divided {
		w.Aside.directory(l, tables)
	}
	return slots
}

// table returns the address and number of the groups of the table at entry i of a directory. It
// returns 0 groups if another entry stands for the table.
func (w *Walker) table(addr, i uint64) (groups, n uint64) {
	o := &w.Types.Offsets.table
	s, obj := w.Types.Model.Object(addr)
	if s == nil || s.NoScan {
		return 0, 0
	}
	b, _ := Payload(s, obj)
	// The depth of a table says how many entries lead to it; its index is that of the first of
	// them.
	if Word(b, uint64(o.Index)) != i {
		return 0, 0
	}
	return Word(b, uint64(o.Groups)), max(Word(b, uint64(o.Mask))+1, 1)
}

// part emits the reference to a part of a map.
func (w *Walker) part(addr uint64) {
	w.Emit(Edge{Ref: RefInternal, To: addr, Layout: LayoutInternal, Confidence: FromOwner})
}

// groups walks n groups, and the slots of them that are in use, if walk is true. It returns the
// number of slots.
//
//go:norace
func (w *Walker) groups(l *mapLayout, addr, n uint64, walk bool) (slots uint64) {
	if walk {
		w.part(addr)
	}
	s, obj := w.Types.Model.Object(addr)
	if s == nil {
		return 0
	}
	if l.Group == 0 {
		return s.ElemSize // unknown layout: each slot takes at least its control byte
	}
	slots = min(n, s.ElemSize/l.Group) * GroupSlots
	if !walk || s.NoScan || !l.Key.HasPointers() && !l.Val.HasPointers() {
		return slots
	}
	mem, _ := Payload(s, obj)
	for ; n > 0 && uint64(len(mem)) >= l.Group; n-- {
		for i := uint64(0); i < GroupSlots; i++ {
			if mem[i]&0x80 != 0 { // empty or deleted
				continue
			}
			w.Value(l.Key, mem[l.KeyOffset+i*l.KeyStride:], 0)
			w.Value(l.Val, mem[l.ValOffset+i*l.ValStride:], l.Key.Refs)
		}
		mem = mem[l.Group:]
	}
	return slots
}
