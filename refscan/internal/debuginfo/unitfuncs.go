package debuginfo

import "debug/dwarf"

// abstractFunc records a function that was inlined somewhere, and its variables. Their
// locations are with the instances.
func (u *unitReader) abstractFunc(e *dwarf.Entry) error {
	u.out.abstracts = append(u.out.abstracts, abstract{
		off:  e.Offset,
		name: stringAttr(e, dwarf.AttrName),
		line: int(intAttr(e, dwarf.AttrDeclLine)),
	})
	depth := 0
	if e.Children {
		depth = 1
	}
	for depth > 0 {
		c, err := u.next()
		if err != nil {
			return err
		}
		if c == nil {
			depth--
			continue
		}
		switch c.Tag {
		case dwarf.TagVariable, dwarf.TagFormalParameter:
			u.out.abstracts = append(u.out.abstracts, abstract{
				off:  c.Offset,
				name: stringAttr(c, dwarf.AttrName),
				line: int(intAttr(c, dwarf.AttrDeclLine)),
				typ:  refAttr(c, dwarf.AttrType),
			})
		case dwarf.TagTypedef:
			if err := u.typeEntry(c); err != nil {
				return err
			}
			continue
		}
		if c.Children {
			depth++
		}
	}
	return nil
}

// scope is where a variable may be visible: the program counters of a lexical block, and the function that was inlined there.
type scope struct {
	spans  []span // nil: the whole function
	inline dwarf.Offset
	leaf   bool // of an inlined function: no call was inlined into it (so far)
}

// function records a function with code of its own and the variables that have a place in its frame.
func (u *unitReader) function(e *dwarf.Entry) error {
	f := rawFunc{
		name:   stringAttr(e, dwarf.AttrName),
		origin: refAttr(e, dwarf.AttrAbstractOrigin),
		line:   int(intAttr(e, dwarf.AttrDeclLine)),
	}
	f.low, f.high = pcRange(e)
	if f.high <= f.low {
		u.r.SkipChildren()
		return nil
	}
	if n := intAttr(e, dwarf.AttrDeclFile); n > 0 {
		f.file = u.fileName(n)
	} else if f.origin != 0 {
		f.file = u.fileAt(f.low)
	}
	framed := true
	if base, ok := e.Val(dwarf.AttrFrameBase).([]byte); ok {
		framed = len(base) == 1 && base[0] == opCallFrameCFA
	}
	var scopes []scope
	if e.Children {
		scopes = append(scopes, scope{})
	}
	for len(scopes) > 0 {
		c, err := u.next()
		if err != nil {
			return err
		}
		top := &scopes[len(scopes)-1]
		if c == nil {
			u.leave(top)
			scopes = scopes[:len(scopes)-1]
			continue
		}
		switch c.Tag {
		case dwarf.TagVariable, dwarf.TagFormalParameter:
			if c.Tag == dwarf.TagFormalParameter && len(scopes) == 1 && f.param == 0 {
				f.param = u.declared(c)
			}
			u.variable(&f, c, top, framed)
			u.r.SkipChildren()
		case dwarf.TagTypedef:
			f.dict = append(f.dict, rawDict{intAttr(c, attrGoDictIndex), refAttr(c, dwarf.AttrType)})
			if err := u.typeEntry(c); err != nil {
				return err
			}
		case dwarf.TagLexDwarfBlock, dwarf.TagInlinedSubroutine:
			s := scope{spans: u.spans(c), inline: top.inline}
			if s.spans == nil {
				s.spans = top.spans
			}
			if c.Tag == dwarf.TagInlinedSubroutine {
				s.inline, s.leaf = refAttr(c, dwarf.AttrAbstractOrigin), true
				if top.inline != 0 {
					// The call lies in the function that holds it, so this is that function's file.
					top.leaf = false
					u.setFile(top.inline, u.fileName(intAttr(c, dwarf.AttrCallFile)))
				}
			}
			if c.Children {
				scopes = append(scopes, s)
			} else {
				u.leave(&s)
			}
		default:
			u.r.SkipChildren()
		}
	}
	u.out.funcs = append(u.out.funcs, f)
	return nil
}

// leave ends a scope. An inlined function in which nothing else was inlined owns all its code, so the line table tells its file.
func (u *unitReader) leave(s *scope) {
	if s.leaf && len(s.spans) > 0 && u.out.files[s.inline] == "" {
		u.setFile(s.inline, u.fileAt(s.spans[0].Low))
	}
}

func (u *unitReader) setFile(fn dwarf.Offset, file string) {
	if file != "" && u.out.files[fn] == "" {
		u.out.files[fn] = file
	}
}

func (u *unitReader) variable(f *rawFunc, e *dwarf.Entry, s *scope, framed bool) {
	name := stringAttr(e, dwarf.AttrName)
	typ := refAttr(e, dwarf.AttrType)
	if off := e.Val(attrGoClosureOffset); off != nil && s.inline == 0 {
		f.captures = append(f.captures, rawCapture{name: name, typ: typ, offset: intAttr(e, attrGoClosureOffset)})
	}
	if !framed {
		return
	}
	f.locals = append(f.locals, rawLocal{
		name:   name,
		origin: refAttr(e, dwarf.AttrAbstractOrigin),
		inline: s.inline,
		typ:    typ,
		line:   int(intAttr(e, dwarf.AttrDeclLine)),
		places: u.places(e, s),
	})
}

// declared returns where to find the type of a parameter: its own, or the abstract parameter that it is an instance of.
func (u *unitReader) declared(e *dwarf.Entry) dwarf.Offset {
	if typ := refAttr(e, dwarf.AttrType); typ != 0 {
		return typ
	}
	return refAttr(e, dwarf.AttrAbstractOrigin)
}

// places decodes a variable's location. A single expression holds in the variable's whole scope, the
// entries of a location list each in their own range.
func (u *unitReader) places(e *dwarf.Entry, s *scope) []Place {
	switch loc := e.Val(dwarf.AttrLocation).(type) {
	case []byte:
		if len(loc) == 0 {
			return nil
		}
		if s.spans == nil {
			return framePlaces(nil, loc, 0, 0)
		}
		var places []Place
		for _, sp := range s.spans {
			places = framePlaces(places, loc, sp.Low, sp.High)
		}
		return places
	case int64:
		var places []Place
		u.lists.locations(loc, func(low, high uint64, expr []byte) {
			if low >= high {
				return
			}
			n := len(places)
			places = framePlaces(places, expr, low, high)
			if len(places) == n+1 && n > 0 && continues(&places[n-1], &places[n]) {
				places[n-1].High = high
				places = places[:n]
			}
		})
		return places
	}
	return nil
}

// continues reports whether b is the same place as a, for the program counters right after it.
func continues(a, b *Place) bool {
	return a.High == b.Low && a.CFAOffset == b.CFAOffset && a.VarOffset == b.VarOffset && a.Size == b.Size
}

func (u *unitReader) spans(e *dwarf.Entry) []span {
	if off, ok := e.Val(dwarf.AttrRanges).(int64); ok {
		return u.lists.ranges(off)
	}
	if low, high := pcRange(e); low < high {
		return []span{{low, high}}
	}
	return nil
}

func pcRange(e *dwarf.Entry) (low, high uint64) {
	low, _ = e.Val(dwarf.AttrLowpc).(uint64)
	switch v := e.Val(dwarf.AttrHighpc).(type) {
	case uint64:
		high = v
	case int64:
		high = low + uint64(v)
	}
	return low, high
}
