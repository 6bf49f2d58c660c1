package symbolize

import (
	"debug/dwarf"
	"slices"
)

// lines finds functions, inlined functions included, and source lines by DWARF. It reads a compile
// unit at the first query for one of its addresses. It is not safe for concurrent use.
type lines struct {
	data  *dwarf.Data
	isIn  func(addr uint64) bool
	units *rangeTable[*unit]
}

// A unit is a compile unit of DWARF.
type unit struct {
	entry     *dwarf.Entry
	read      bool
	functions *rangeTable[*block]
	rows      *rangeTable[row]
	files     []*dwarf.LineFile
}

// A block is the code of a function, or of a function that is inlined into another one.
type block struct {
	at       dwarf.Offset
	ranges   [][2]uint64
	inlined  []*block
	callFile int64 // file and line of the call of an inlined function; the file is -1 if unknown
	callLine int64
}

// A row is a place in the source.
type row struct {
	file string
	line int
}

// newLines reads which addresses each unit covers. It skips ranges whose begin isIn rejects, since
// they are no code: a linker that drops a function lets its debug information begin at 0.
func newLines(data *dwarf.Data, isIn func(addr uint64) bool) *lines {
	l := &lines{data: data, isIn: isIn}
	var entries []rangeEntry[*unit]
	last := dwarf.Offset(0)
	for r := data.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil || e == nil || e.Offset < last { // a damaged sibling reference leads back
			break
		}
		last = e.Offset + 1
		if e.Tag != dwarf.TagCompileUnit {
			continue
		}
		u := &unit{entry: e}
		for _, r := range l.ranges(e) {
			entries = append(entries, rangeEntry[*unit]{Lo: r[0], Hi: r[1], Value: u})
		}
	}
	l.units = newRangeTable(entries)
	return l
}

// ranges returns the addresses of an entry that are code.
func (l *lines) ranges(e *dwarf.Entry) [][2]uint64 {
	all, err := l.data.Ranges(e)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(r [2]uint64) bool { return r[0] >= r[1] || !l.isIn(r[0]) })
}

// frames returns the functions at an address, the innermost first; none if there is no debug
// information about it.
func (l *lines) frames(addr uint64) []frame {
	u, ok := l.units.At(addr)
	if !ok {
		return nil
	}
	if !u.read {
		l.readUnit(u)
	}
	outer, ok := u.functions.At(addr)
	if !ok {
		return nil
	}
	var frames []frame
	for b := outer; b != nil; b = b.innerAt(addr) {
		f := l.named(b.at)
		if len(frames) > 0 { // the line of the outer function is that of the call
			frames[len(frames)-1].File, frames[len(frames)-1].Line = u.file(b.callFile), int(b.callLine)
		}
		frames = append(frames, f)
	}
	if at, ok := u.rows.At(addr); ok {
		frames[len(frames)-1].File, frames[len(frames)-1].Line = at.file, at.line
	}
	slices.Reverse(frames)
	return frames
}

func (b *block) innerAt(addr uint64) *block {
	for _, inner := range b.inlined {
		for _, r := range inner.ranges {
			if r[0] <= addr && addr < r[1] {
				return inner
			}
		}
	}
	return nil
}

func (u *unit) file(i int64) string {
	if i < 0 || i >= int64(len(u.files)) || u.files[i] == nil {
		return ""
	}
	return u.files[i].Name
}

// readUnit reads the functions and the lines of a unit. What is damaged is left out.
func (l *lines) readUnit(u *unit) {
	u.read = true
	u.rows = newRangeTable[row](nil)
	if r, err := l.data.LineReader(u.entry); err == nil && r != nil {
		u.rows = rowsOf(r)
		u.files = r.Files()
	}
	var functions []rangeEntry[*block]
	r := l.data.Reader()
	r.Seek(u.entry.Offset)
	if _, err := r.Next(); err != nil || !u.entry.Children {
		u.functions = newRangeTable(functions)
		return
	}
	for stack := []*block{nil}; len(stack) > 0; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if e.Tag == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		b := stack[len(stack)-1]
		switch e.Tag {
		case dwarf.TagSubprogram:
			b = l.block(e)
			for _, r := range b.ranges {
				functions = append(functions, rangeEntry[*block]{Lo: r[0], Hi: r[1], Value: b})
			}
		case dwarf.TagInlinedSubroutine:
			inner := l.block(e)
			if b != nil {
				b.inlined = append(b.inlined, inner)
			}
			b = inner
		}
		if e.Children {
			stack = append(stack, b)
		}
	}
	u.functions = newRangeTable(functions)
}

func (l *lines) block(e *dwarf.Entry) *block {
	b := &block{at: e.Offset, ranges: l.ranges(e), callFile: -1}
	if file, ok := e.Val(dwarf.AttrCallFile).(int64); ok {
		b.callFile = file
	}
	b.callLine, _ = e.Val(dwarf.AttrCallLine).(int64)
	return b
}

// rowsOf reads a line table: each row covers the addresses up to the next row.
func rowsOf(r *dwarf.LineReader) *rangeTable[row] {
	var entries []rangeEntry[row]
	var last, next dwarf.LineEntry
	for r.Next(&next) == nil {
		if last.File != nil && !last.EndSequence && last.Address < next.Address {
			entries = append(entries, rangeEntry[row]{Lo: last.Address, Hi: next.Address, Value: row{last.File.Name, last.Line}})
		}
		last = next
	}
	return newRangeTable(entries)
}

// maxOrigins bounds how many references from entry to entry named follows.
const maxOrigins = 8

// named makes a frame of the function whose entry is at an offset. What the entry lacks, such as
// the name, comes from the entries that it refers to (abstract origin, specification).
func (l *lines) named(at dwarf.Offset) frame {
	var f frame
	r := l.data.Reader()
	for range maxOrigins {
		r.Seek(at)
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if name, _ := e.Val(dwarf.AttrLinkageName).(string); f.SystemName == "" {
			f.SystemName = name
		}
		if name, _ := e.Val(dwarf.AttrName).(string); f.Name == "" {
			f.Name = name
		}
		if line, _ := e.Val(dwarf.AttrDeclLine).(int64); f.StartLine == 0 {
			f.StartLine = int(line)
		}
		origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			origin, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			break
		}
		at = origin
	}
	switch {
	case f.SystemName != "":
		f.Name = demangled(f.SystemName)
	default:
		f.SystemName = f.Name
	}
	return f
}
