package dwarfread

import "fmt"

// abbrev says how entries of one kind are written: a tag and the attributes' forms.
type abbrev struct {
	code     uint64
	tag      dwarfTag
	children bool
	attrs    []attrSpec
}

type attrSpec struct {
	name  dwarfAttr
	form  uint64
	value int64 // with formImplicitConst
}

// abbrevTable holds abbreviations in the order of the file. Writers number them from 1 on.
type abbrevTable []abbrev

func (t abbrevTable) find(code uint64) *abbrev {
	if code-1 < uint64(len(t)) && t[code-1].code == code {
		return &t[code-1]
	}
	for i := range t {
		if t[i].code == code {
			return &t[i]
		}
	}
	return nil
}

// readAbbrevs reads the table at an offset of .debug_abbrev (DWARF 5, section 7.5.3).
func readAbbrevs(section []byte, off uint64) (abbrevTable, error) {
	if off > uint64(len(section)) {
		return nil, fmt.Errorf("%w: abbreviations at %#x", errDamaged, off)
	}
	c := cursor{b: section[off:]}
	var table abbrevTable
	for !c.bad {
		code := c.uleb()
		if code == 0 {
			break
		}
		a := abbrev{code: code, tag: dwarfTag(c.uleb()), children: c.u8() != 0}
		for !c.bad {
			s := attrSpec{name: dwarfAttr(c.uleb()), form: c.uleb()}
			if s.form == formImplicitConst {
				s.value = c.sleb()
			}
			if s.name == 0 && s.form == 0 {
				break
			}
			a.attrs = append(a.attrs, s)
		}
		table = append(table, a)
	}
	if c.bad {
		return nil, fmt.Errorf("%w: abbreviations at %#x", errDamaged, off)
	}
	return table, nil
}
