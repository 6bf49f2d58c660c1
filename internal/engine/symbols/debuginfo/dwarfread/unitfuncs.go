package dwarfread

import (
	"cmp"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
)

// abstractFunc records a function that was inlined somewhere, and its variables. Their
// locations are with the instances. Parameters have no line, so they get that of the function.
func (u *unitReader) abstractFunc(e *entry) error {
	fn := abstract{off: e.off, name: e.text(attrName), line: int(e.number(attrDeclLine))}
	u.out.abstracts = append(u.out.abstracts, fn)
	depth := 0
	if e.children {
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
		switch c.tag {
		case tagVariable, tagFormalParameter:
			u.out.abstracts = append(u.out.abstracts, abstract{
				off:  c.off,
				name: c.text(attrName),
				line: cmp.Or(int(c.number(attrDeclLine)), fn.line),
				typ:  c.ref(attrType),
			})
		case tagTypedef:
			if err := u.typeEntry(c); err != nil {
				return err
			}
			continue
		}
		if c.children {
			depth++
		}
	}
	return nil
}

// scope is where a variable may be visible: the program counters of a lexical block, and the
// function that was inlined there.
type scope struct {
	spans  []span // nil: the whole function
	inline dieOffset
	leaf   bool // of an inlined function: no call was inlined into it (so far)
}

// function records a function with code of its own and the variables that have a place in its
// frame.
func (u *unitReader) function(e *entry) error {
	f := rawFunc{
		name:   e.text(attrName),
		origin: e.ref(attrAbstractOrigin),
		line:   int(e.number(attrDeclLine)),

		wrapper: e.has(attrTrampoline),
	}
	f.low, f.high = u.pcRange(e)
	if f.high <= f.low {
		u.skipChildren()
		return nil
	}
	if n := e.number(attrDeclFile); n > 0 {
		f.file = u.lines.file(uint64(n))
	} else if f.origin != 0 {
		f.file = u.lines.fileAt(f.low)
	}
	framed := true
	if base := e.find(attrFrameBase); base != nil && base.class == classBlock {
		framed = len(base.data) == 1 && base.data[0] == opCallFrameCFA
	}
	var scopes []scope
	if e.children {
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
		switch c.tag {
		case tagVariable, tagFormalParameter:
			if c.tag == tagFormalParameter && len(scopes) == 1 && f.param == 0 {
				f.param = paramTypeEntry(c)
			}
			u.variable(&f, c, top, framed)
			u.skipChildren()
		case tagTypedef:
			f.dict = append(f.dict, rawDict{c.number(attrGoDictIndex), c.ref(attrType)})
			if err := u.typeEntry(c); err != nil {
				return err
			}
		case tagLexicalBlock, tagInlinedSubroutine:
			s := u.enter(&f, c, top)
			if c.children {
				scopes = append(scopes, s)
			} else {
				u.leave(&s)
			}
		default:
			u.skipChildren()
		}
	}
	u.out.funcs = append(u.out.funcs, f)
	return nil
}

// enter begins the scope of a lexical block or an inlined function within the scope top.
func (u *unitReader) enter(f *rawFunc, e *entry, top *scope) scope {
	s := scope{spans: u.spans(e), inline: top.inline}
	if s.spans == nil {
		s.spans = top.spans
	}
	if e.tag == tagLexicalBlock {
		return s
	}
	s.inline, s.leaf = e.ref(attrAbstractOrigin), true
	if top.inline == 0 {
		f.inlined = s.inline
		return s
	}
	// The call lies in the function that holds it, so this is that function's file.
	top.leaf = false
	u.setFile(top.inline, u.lines.file(uint64(e.number(attrCallFile))))
	return s
}

// leave ends a scope. An inlined function in which nothing else was inlined owns all its code, so
// the line table tells its file.
func (u *unitReader) leave(s *scope) {
	if s.leaf && len(s.spans) > 0 && u.out.files[s.inline] == "" {
		u.setFile(s.inline, u.lines.fileAt(s.spans[0].Low))
	}
}

func (u *unitReader) setFile(fn dieOffset, file string) {
	if file != "" && u.out.files[fn] == "" {
		u.out.files[fn] = file
	}
}

func (u *unitReader) variable(f *rawFunc, e *entry, s *scope, framed bool) {
	name := e.text(attrName)
	typ := e.ref(attrType)
	if e.has(attrGoClosureOffset) && s.inline == 0 {
		f.captures = append(f.captures, rawCapture{name: name, typ: typ, offset: e.number(attrGoClosureOffset)})
	}
	if !framed {
		return
	}
	places := u.places(e, s)
	// Whether a variable that an assertion does not see is still used is asked of test code only.
	own := s.inline == 0 && strings.HasSuffix(f.file, "_test.go")
	if len(places) == 0 && !own {
		return
	}
	var block []span
	if own {
		block = s.spans
	}
	f.locals = append(f.locals, rawLocal{
		name:   name,
		origin: e.ref(attrAbstractOrigin),
		inline: s.inline,
		typ:    typ,
		line:   int(e.number(attrDeclLine)),
		places: places,
		block:  block,
	})
}

// paramTypeEntry returns the offset of the entry that gives a parameter's type: the type itself, or
// the abstract parameter that this parameter is an instance of.
func paramTypeEntry(e *entry) dieOffset {
	if typ := e.ref(attrType); typ != 0 {
		return typ
	}
	return e.ref(attrAbstractOrigin)
}

// places decodes a variable's location. A single expression holds in the variable's whole scope,
// the entries of a location list each in their own range.
func (u *unitReader) places(e *entry, s *scope) []symindex.Place {
	loc := e.find(attrLocation)
	if loc == nil {
		return nil
	}
	switch loc.class {
	case classBlock:
		if len(loc.data) == 0 {
			return nil
		}
		if s.spans == nil {
			return framePlaces(nil, loc.data, 0, 0)
		}
		var places []symindex.Place
		for _, sp := range s.spans {
			places = framePlaces(places, loc.data, sp.Low, sp.High)
		}
		return places
	case classOffset:
		var places []symindex.Place
		u.lists.locations(int64(loc.num), func(low, high uint64, expr []byte) {
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
func continues(a, b *symindex.Place) bool {
	return a.High == b.Low && a.CFAOffset == b.CFAOffset && a.VarOffset == b.VarOffset && a.Size == b.Size
}

func (u *unitReader) spans(e *entry) []span {
	if a := e.find(attrRanges); a != nil && a.class == classOffset {
		return u.lists.ranges(int64(a.num))
	}
	if low, high := u.pcRange(e); low < high {
		return []span{{Low: low, High: high}}
	}
	return nil
}

// pcRange returns the program counters of an entry's code. The end is an address or, if it is a
// constant, the length of the code.
func (u *unitReader) pcRange(e *entry) (low, high uint64) {
	low = u.address(e, attrLowPC)
	if a := e.find(attrHighPC); a != nil && a.class == classConstant {
		return low, low + a.num
	}
	return low, u.address(e, attrHighPC)
}
