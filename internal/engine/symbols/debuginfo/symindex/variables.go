package symindex

import (
	"encoding/binary"
	"strings"
)

// The variables of a function are packed as uvarints, signed ones zigzag:
//
//	number of bytes that follow
//	number of locals, then each: name, type<<1|deref, inline, file+1 (0: the function's), line
//	relative to the function's, number of places, then each:
//	    low+1 relative to the previous low, or else to the entry (0: everywhere in the function,
//	    and no high), high-low, CFA offset, variable offset, size
//	  number of spans of its block, then each: low relative to the entry, high-low
//	number of captures, then each: name, type<<1|byRef, offset
//	type of the first parameter
//	number of types in the dictionary, then each: index, type
//
// Names, inline and file are offsets in the string table.

// Locals returns the variables that have a place in the frame of the function at that entry,
// inlined functions' variables among them, and those without one of functions in test files (see
// Local). Variables whose type holds no pointers are left out. It decodes them anew with every
// call.
func (x *Index) Locals(entry uint64) []Local {
	c, ok := x.varsOf(entry)
	if !ok {
		return nil
	}
	return x.locals(c, entry)
}

// Captures returns the variables that the closures of a function hold, by offset: those that the
// function literal at that entry captures, or the receiver (ReceiverName) of a method
// value's wrapper ("-fm").
//
// DWARF lists arrays, and structs that the function does not keep in registers, with their address
// ("&x") or not at all. ByRef may then be wrong.
func (x *Index) Captures(entry uint64) []Capture {
	if captures := x.methodValue(entry); captures != nil {
		return captures
	}
	c, ok := x.varsOf(entry)
	if !ok {
		return nil
	}
	x.locals(c, entry)
	return x.captures(c)
}

// Signature returns the type of the first parameter of the function at that entry, also if the
// parameter has no place in the frame, or 0 if there is no parameter. For shaped code it also
// returns the types in the function's dictionary.
func (x *Index) Signature(entry uint64) (param TypeID, dict []DictType) {
	c, ok := x.varsOf(entry)
	if !ok {
		return 0, nil
	}
	x.locals(c, entry)
	x.captures(c)
	param = x.typeRef(c)
	for n := c.uleb(); n > 0; n-- {
		d := DictType{Index: c.uint32(), Shape: x.typeRef(c)}
		if c.bad {
			return param, nil
		}
		dict = append(dict, d)
	}
	return param, dict
}

func (x *Index) typeRef(c *numbers) TypeID {
	if v := c.uleb(); v <= uint64(x.count(tableTypes)) {
		return TypeID(v)
	}
	return 0
}

// methodValue derives the receiver's type from the wrapper's name, "pkg.(*T).M-fm" or "pkg.T.M-fm":
// DWARF lists the receiver by its address or not at all, and it does not list every type *T. The
// receiver follows the code pointer (go1.26 cmd/compile/internal/typecheck/func.go,
// MethodValueType).
func (x *Index) methodValue(entry uint64) []Capture {
	i, ok := x.funcAt(entry)
	if !ok {
		return nil
	}
	f := x.fn(i)
	name, ok := strings.CutSuffix(f.Name, "-fm")
	dot := strings.LastIndexByte(name, '.')
	if !ok || f.Entry != entry || dot < 0 || f.Package == "" {
		return nil
	}
	recv := strings.TrimPrefix(name[:dot], f.Package+".")
	pointer := ""
	if strings.HasPrefix(recv, "(*") && strings.HasSuffix(recv, ")") {
		pointer, recv = "*", recv[2:len(recv)-1]
	}
	byRef := false
	id, ok := x.TypeByName(pointer + f.Package + "." + recv)
	if !ok && pointer != "" {
		id, ok = x.TypeByName(f.Package + "." + recv)
		byRef = true
	}
	if !ok {
		return nil
	}
	return []Capture{{Name: ReceiverName, Type: id, Offset: 8, ByRef: byRef}}
}

func (x *Index) varsOf(entry uint64) (*numbers, bool) {
	i, ok := x.funcAt(entry)
	if !ok {
		return nil, false
	}
	r := x.record(tableFuncs, i)
	at := u32(r, 28)
	if u64(r, 0) != entry || at == 0 {
		return nil, false
	}
	return &numbers{b: x.sized(tableVars, at-1)}, true
}

//go:norace
func (x *Index) locals(c *numbers, entry uint64) []Local {
	n := c.count()
	if n == 0 {
		return nil
	}
	own, _ := x.FuncByPC(entry)
	out := make([]Local, 0, n)
	for range n {
		l := Local{Name: x.str(c.uint32())}
		l.Type, l.Deref = x.flagged(c)
		l.Inline, l.File = x.str(c.uint32()), own.File
		if file := c.uint32(); file > 0 {
			l.File = x.str(file - 1)
		}
		l.Line = own.Line + int(int32(c.zigzag()))
		places, low := c.count(), entry
		l.Ranges = make([]Place, 0, places)
		for range places {
			var p Place
			if from := c.uleb(); from > 0 {
				low += uint64(unzigzag(from - 1))
				p.Low, p.High = low, low+c.uleb()
			}
			p.CFAOffset, p.VarOffset, p.Size = c.zigzag(), c.zigzag(), c.zigzag()
			l.Ranges = append(l.Ranges, p)
		}
		for spans := c.uleb(); spans > 0 && !c.bad; spans-- {
			low := entry + uint64(c.zigzag())
			l.Block = append(l.Block, Span{low, low + c.uleb()})
		}
		if c.bad {
			return nil
		}
		out = append(out, l)
	}
	return out
}

func (x *Index) captures(c *numbers) []Capture {
	n := c.count()
	if n == 0 {
		return nil
	}
	out := make([]Capture, 0, n)
	for range n {
		v := Capture{Name: x.str(c.uint32())}
		v.Type, v.ByRef = x.flagged(c)
		v.Offset = c.zigzag()
		if c.bad {
			return nil
		}
		out = append(out, v)
	}
	return out
}

func (x *Index) flagged(c *numbers) (TypeID, bool) {
	v := c.uleb()
	if v>>1 > uint64(x.count(tableTypes)) {
		return 0, v&1 != 0
	}
	return TypeID(v >> 1), v&1 != 0
}

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// packVariables appends a function's variables, first parameter and dictionary in packed form, as
// uvarints.
func (e *encoder) packVariables(b []byte, f *Function) []byte {
	n := append(e.numbers[:0], uint64(len(f.Locals)))
	for i := range f.Locals {
		l := &f.Locals[i]
		file := uint64(0)
		if l.File != f.File {
			file = uint64(e.str(l.File)) + 1
		}
		n = append(n, uint64(e.str(l.Name)), flag(l.Type, l.Deref), uint64(e.str(l.Inline)), file,
			zigzag(int64(l.Line-f.Line)), uint64(len(l.Ranges)))
		low := f.Entry
		for _, p := range l.Ranges {
			if p.Low == 0 && p.High == 0 {
				n = append(n, 0)
			} else {
				n = append(n, zigzag(int64(p.Low-low))+1, p.High-p.Low)
				low = p.Low
			}
			n = append(n, zigzag(p.CFAOffset), zigzag(p.VarOffset), zigzag(p.Size))
		}
		n = append(n, uint64(len(l.Block)))
		for _, s := range l.Block {
			n = append(n, zigzag(int64(s.Low-f.Entry)), s.High-s.Low)
		}
	}
	n = append(n, uint64(len(f.Captures)))
	for _, c := range f.Captures {
		n = append(n, uint64(e.str(c.Name)), flag(c.Type, c.ByRef), zigzag(c.Offset))
	}
	n = append(n, uint64(f.Param), uint64(len(f.Dict)))
	for _, d := range f.Dict {
		n = append(n, uint64(d.Index), uint64(d.Shape))
	}
	e.numbers = n
	return packNumbers(b, n...)
}

// packNumbers appends uvarints.
func packNumbers(b []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func flag(id TypeID, set bool) uint64 {
	v := uint64(id) << 1
	if set {
		v |= 1
	}
	return v
}
