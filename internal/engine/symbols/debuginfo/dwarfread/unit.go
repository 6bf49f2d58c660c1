package dwarfread

import "fmt"

// unitReader walks the entries of one compilation unit.
type unitReader struct {
	entryReader
	lists lists
	lines lineTable
	out   *rawUnit
}

// readUnit reads one unit. Only units that the Go toolchain wrote are read: C code has no Go types,
// and its variables come from the symbol table.
func readUnit(d *debugSections, h unitHeader) (out *rawUnit) {
	out = &rawUnit{files: make(map[dieOffset]string)}
	defer func() {
		// The readers check what they read. Where a check is missing, damage must cost one unit and
		// not the whole program.
		if p := recover(); p != nil {
			out.err = fmt.Errorf("unit at %#x: damaged debug information: %v", h.first, p)
		}
	}()
	u := newUnitReader(d, h)
	u.out = out
	cu, err := u.next()
	if err != nil || cu == nil {
		out.err = fmt.Errorf("unit at %#x: %w", h.first, orDamaged(err))
		return out
	}
	if cu.tag != tagCompileUnit || cu.number(attrLanguage) != languageGo {
		return out
	}
	out.name, out.pkg = cu.text(attrName), cu.text(attrGoPackageName)
	u.lists.addrBase = uint64(cu.number(attrAddrBase))
	u.lists.base = u.address(cu, attrLowPC)
	if a := cu.find(attrStmtList); a != nil {
		u.lines = readLineTable(d.line, a.num, cu.text(attrCompDir), d.strings)
	}
	if cu.children {
		out.err = u.entries()
	}
	return out
}

func newUnitReader(d *debugSections, h unitHeader) *unitReader {
	u := &unitReader{
		entryReader: entryReader{
			cursor:  cursor{b: d.info[h.first:h.end]},
			unit:    h,
			abbrevs: d.abbrevs[h.abbrevs],
			strings: d.strings,
		},
		lists: lists{dwarf5: h.version >= 5, addr: d.addr, loc: d.loc, rng: d.ranges},
	}
	if u.lists.dwarf5 {
		u.lists.loc, u.lists.rng = d.loclists, d.rnglists
	}
	return u
}

func orDamaged(err error) error {
	if err == nil {
		return errDamaged
	}
	return err
}

// address returns an attribute that is an address, 0 if it is none.
func (u *unitReader) address(e *entry, name dwarfAttr) uint64 {
	if a := e.find(name); a != nil {
		switch a.class {
		case classAddress:
			return a.num
		case classAddressIndex:
			return u.lists.addrx(a.num)
		}
	}
	return 0
}

// entries reads the unit's top level.
func (u *unitReader) entries() error {
	for {
		e, err := u.next()
		if err != nil {
			return fmt.Errorf("unit %s: %w", u.out.name, err)
		}
		if e == nil {
			return nil
		}
		off := e.off
		switch e.tag {
		case tagSubprogram:
			if e.has(attrInline) {
				err = u.abstractFunc(e)
			} else {
				err = u.function(e)
			}
		case tagVariable:
			u.global(e)
			u.skipChildren()
		default:
			err = u.typeEntry(e)
		}
		if err != nil {
			return fmt.Errorf("unit %s: entry at %#x: %w", u.out.name, off, err)
		}
	}
}

func (u *unitReader) global(e *entry) {
	loc := e.find(attrLocation)
	if loc == nil || loc.class != classBlock {
		return
	}
	addr, ok := fixedAddress(loc.data)
	if !ok || addr == 0 {
		return
	}
	u.out.globals = append(u.out.globals, rawGlobal{
		name: e.text(attrName),
		addr: addr,
		typ:  e.ref(attrType),
	})
}
