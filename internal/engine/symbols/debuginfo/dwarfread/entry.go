package dwarfread

import (
	"bytes"
	"fmt"
	"unsafe"
)

// view makes a string of bytes without copying them. They must not change.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// dieOffset is the offset of an entry in .debug_info.
type dieOffset uint32

// entry is a debugging information entry.
type entry struct {
	off      dieOffset
	tag      dwarfTag
	children bool
	attrs    []attribute
}

// attribute is an attribute's value: num or data, by class.
type attribute struct {
	name  dwarfAttr
	class class
	num   uint64
	data  []byte
}

// class is the kind of value that a form encodes.
type class uint8

const (
	classNone class = iota // not read: strings and references into other files or by index
	classAddress
	classAddressIndex // into the unit's part of .debug_addr
	classConstant
	classReference // num is a dieOffset
	classString
	classBlock
	classOffset // into another section
)

// find returns an attribute, nil if the entry does not have it.
func (e *entry) find(name dwarfAttr) *attribute {
	for i := range e.attrs {
		if e.attrs[i].name == name {
			return &e.attrs[i]
		}
	}
	return nil
}

func (e *entry) has(name dwarfAttr) bool { return e.find(name) != nil }

// text returns a string in the section's memory.
func (e *entry) text(name dwarfAttr) string {
	if a := e.find(name); a != nil && a.class == classString {
		return view(a.data)
	}
	return ""
}

func (e *entry) ref(name dwarfAttr) dieOffset {
	if a := e.find(name); a != nil && a.class == classReference {
		return dieOffset(a.num)
	}
	return 0
}

// number returns a constant, an offset or an address that is not by index; 0 for anything else.
func (e *entry) number(name dwarfAttr) int64 {
	if a := e.find(name); a != nil && (a.class == classConstant || a.class == classOffset || a.class == classAddress) {
		return int64(a.num)
	}
	return 0
}

// stringSections are the sections that hold names.
type stringSections struct{ str, lineStr []byte }

func (s *stringSections) at(section []byte, off uint64) []byte {
	if off >= uint64(len(section)) {
		return nil
	}
	b := section[off:]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return b[:n]
	}
	return nil
}

// entryReader reads the entries of one compilation unit in order.
type entryReader struct {
	cursor
	unit    unitHeader
	abbrevs abbrevTable
	strings stringSections
	last    entry
}

// next returns the next entry; nil at the end of a list of siblings. The entry is valid until the
// next call. After an error every later call returns an error.
func (r *entryReader) next() (*entry, error) {
	e := &r.last
	e.off = dieOffset(r.unit.end - len(r.b))
	e.attrs = e.attrs[:0]
	e.tag, e.children = 0, false
	code := r.uleb()
	if r.bad {
		return nil, errDamaged
	}
	if code == 0 {
		return nil, nil
	}
	a := r.abbrevs.find(code)
	if a == nil {
		r.bad = true
		return nil, fmt.Errorf("%w: abbreviation %d", errDamaged, code)
	}
	e.tag, e.children = a.tag, a.children
	for i := range a.attrs {
		s := &a.attrs[i]
		v := attribute{name: s.name}
		if s.form == formImplicitConst {
			v.class, v.num = classConstant, uint64(s.value)
		} else if !r.value(&v, s.form) {
			r.bad = true
			return nil, fmt.Errorf("%w: form %#x", errDamaged, s.form)
		}
		e.attrs = append(e.attrs, v)
	}
	if r.bad {
		return nil, errDamaged
	}
	return e, nil
}

// skipChildren skips the descendants of the entry that next returned last. If they are damaged, the
// following call of next returns the error.
func (r *entryReader) skipChildren() {
	depth := 0
	if r.last.children {
		depth = 1
	}
	for depth > 0 {
		e, err := r.next()
		switch {
		case err != nil:
			return
		case e == nil:
			depth--
		case e.children:
			depth++
		}
	}
}

// value reads a value of the given form; false if there is no such form.
func (r *entryReader) value(v *attribute, form uint64) bool {
	if form == formIndirect {
		form = r.uleb()
	}
	switch form {
	case formAddr:
		v.class, v.num = classAddress, r.u64()
	case formAddrx:
		v.class, v.num = classAddressIndex, r.uleb()
	case formAddrx1, formAddrx2, formAddrx3, formAddrx4:
		v.class, v.num = classAddressIndex, r.uint(int(form-formAddrx1)+1)
	case formData1, formFlag:
		v.class, v.num = classConstant, r.uint(1)
	case formData2:
		v.class, v.num = classConstant, r.uint(2)
	case formData4:
		v.class, v.num = classConstant, r.uint(4)
	case formData8:
		v.class, v.num = classConstant, r.u64()
	case formSdata:
		v.class, v.num = classConstant, uint64(r.sleb())
	case formUdata:
		v.class, v.num = classConstant, r.uleb()
	case formFlagPresent:
		v.class, v.num = classConstant, 1
	case formSecOffset:
		v.class, v.num = classOffset, r.uint(r.unit.offsetSize)
	case formRefAddr:
		v.class, v.num = classReference, r.uint(r.unit.offsetSize)
	case formRef1, formRef2, formRef4, formRef8:
		v.class, v.num = classReference, uint64(r.unit.start)+r.uint(1<<(form-formRef1))
	case formRefUdata:
		v.class, v.num = classReference, uint64(r.unit.start)+r.uleb()
	case formString:
		v.class, v.data = classString, r.terminated()
	case formStrp:
		v.class, v.data = classString, r.strings.at(r.strings.str, r.uint(r.unit.offsetSize))
	case formLineStrp:
		v.class, v.data = classString, r.strings.at(r.strings.lineStr, r.uint(r.unit.offsetSize))
	case formBlock1:
		v.class, v.data = classBlock, r.block(r.uint(1))
	case formBlock2:
		v.class, v.data = classBlock, r.block(r.uint(2))
	case formBlock4:
		v.class, v.data = classBlock, r.block(r.uint(4))
	case formBlock, formExprloc:
		v.class, v.data = classBlock, r.block(r.uleb())
	case formStrx, formLoclistx, formRnglistx:
		r.uleb()
	case formStrx1, formStrx2, formStrx3, formStrx4:
		r.uint(int(form-formStrx1) + 1)
	case formRefSup4:
		r.uint(4)
	case formRefSig8, formRefSup8:
		r.u64()
	case formStrpSup, formGNURefAlt, formGNUStrpAlt:
		r.uint(r.unit.offsetSize)
	case formData16:
		r.take(16)
	default:
		return false
	}
	return true
}
