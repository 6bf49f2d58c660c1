package dwarfread

import "sort"

// lineTable is the part of a unit's line table that names source files (DWARF 5, section 6.2; DWARF
// 4 has another format for the list of files). The zero value is an empty table.
type lineTable struct {
	files     []sourceFile // by file number
	version   uint16
	program   []byte
	lengths   []byte // number of operands of the standard opcodes, from opcode 1 on
	minStep   uint64
	lineRange uint64
	changes   []fileChange // sorted by address; decoded when first asked for
	decoded   bool
}

// fileChange is a point where the code's source file changes.
type fileChange struct {
	pc   uint64
	file string
}

// Opcodes of line programs, and content types of the entries in lists of files (DWARF 5, sections
// 7.22 and 6.2.4.1).
const (
	lnsCopy         = 1
	lnsAdvancePC    = 2
	lnsAdvanceLine  = 3
	lnsSetFile      = 4
	lnsConstAddPC   = 8
	lnsFixedAdvance = 9
	lneEndSequence  = 1
	lneSetAddress   = 2

	lnctPath           = 1
	lnctDirectoryIndex = 2
)

// readLineTable reads the header at an offset of .debug_line. A damaged header gives an empty
// table: file names only appear in messages, and nothing is computed from them.
func readLineTable(section []byte, off uint64, compDir string, strings stringSections) (t lineTable) {
	if off > uint64(len(section)) {
		return lineTable{}
	}
	r := entryReader{cursor: cursor{b: section[off:]}, strings: strings}
	r.unit.offsetSize = 4
	length := r.uint(4)
	if length == 0xffffffff {
		r.unit.offsetSize, length = 8, r.u64()
	}
	r.b = r.block(length)
	t.version = r.u16()
	if t.version >= 5 {
		r.take(2) // sizes of addresses and segment selectors
	}
	header := r.uint(r.unit.offsetSize)
	if r.bad || t.version < 2 || t.version > 5 || header > uint64(len(r.b)) {
		return lineTable{}
	}
	t.program = r.b[header:]
	r.b = r.b[:header]
	t.minStep = r.uint(1)
	if t.version >= 4 {
		r.u8() // operations per instruction, which is for VLIW machines
	}
	r.take(2) // default_is_stmt, line_base
	t.lineRange = r.uint(1)
	t.lengths = r.take(int(r.u8()) - 1)
	if r.bad || t.lineRange == 0 {
		return lineTable{}
	}
	if t.version >= 5 {
		dirs := r.fileList(nil)
		t.files = r.fileList(dirs)
	} else {
		t.files = r.oldFileList(compDir)
	}
	if r.bad {
		return lineTable{}
	}
	return t
}

// fileList reads a list of folders, or of files in folders.
func (r *entryReader) fileList(dirs []sourceFile) []sourceFile {
	format := make([]attrSpec, r.u8())
	for i := range format {
		format[i] = attrSpec{name: dwarfAttr(r.uleb()), form: r.uleb()}
	}
	n := r.uleb()
	if n > uint64(len(r.b)) || len(format) == 0 {
		r.bad = r.bad || n > 0
		return nil
	}
	list := make([]sourceFile, 0, n)
	for range n {
		var file sourceFile
		for _, f := range format {
			var v attribute
			if !r.value(&v, f.form) {
				r.bad = true
			}
			switch f.name {
			case lnctPath:
				file.name = view(v.data)
			case lnctDirectoryIndex:
				if v.num < uint64(len(dirs)) {
					file.dir = dirs[v.num].name
				}
			}
		}
		if r.bad {
			return nil
		}
		list = append(list, file)
	}
	return list
}

// oldFileList reads the lists of folders and files up to DWARF 4.
func (r *entryReader) oldFileList(compDir string) []sourceFile {
	dirs := []string{compDir}
	for !r.bad {
		dir := view(r.terminated())
		if dir == "" {
			break
		}
		dirs = append(dirs, sourceFile{compDir, dir}.path())
	}
	files := make([]sourceFile, 1) // they are numbered from 1 on
	for !r.bad {
		file := sourceFile{name: view(r.terminated())}
		if file.name == "" {
			break
		}
		if dir := r.uleb(); dir < uint64(len(dirs)) {
			file.dir = dirs[dir]
		}
		r.uleb() // time and size
		r.uleb()
		files = append(files, file)
	}
	return files
}

// sourceFile is the path of a file or folder, split into the folder that holds it and its name.
// path joins them on demand, since most paths are never asked for.
type sourceFile struct{ dir, name string }

func (f sourceFile) path() string {
	if f.dir == "" || f.dir == "." || f.name == "" || f.name[0] == '/' {
		return f.name
	}
	return f.dir + "/" + f.name
}

// file returns the path of the file with a number, "" if the number is unknown or stands for no
// file.
func (t *lineTable) file(index uint64) string {
	if index >= uint64(len(t.files)) {
		return ""
	}
	return knownFile(t.files[index].path())
}

// fileAt returns the source file of the code at pc.
func (t *lineTable) fileAt(pc uint64) string {
	if !t.decoded {
		t.decoded = true
		t.run()
	}
	l := t.changes
	i := sort.Search(len(l), func(i int) bool { return l[i].pc > pc })
	if i == 0 {
		return ""
	}
	return l[i-1].file
}

// run executes the line program and records where the source file changes.
func (t *lineTable) run() {
	const none = ^uint64(0)
	var (
		c    = cursor{b: t.program}
		base = uint64(len(t.lengths)) + 1 // the first special opcode
		pc   uint64
		file = uint64(1)
		last = none
	)
	row := func() {
		if file == last {
			return
		}
		last = file
		name := t.file(file)
		if n := len(t.changes); n > 0 && t.changes[n-1].pc == pc {
			t.changes[n-1].file = name
			return
		}
		t.changes = append(t.changes, fileChange{pc, name})
	}
	for len(c.b) > 0 && !c.bad {
		op := uint64(c.u8())
		switch {
		case op >= base:
			pc += (op - base) / t.lineRange * t.minStep
			row()
		case op == 0:
			x := cursor{b: c.take(int(min(c.uleb(), 1<<31)))}
			switch x.u8() {
			case lneEndSequence:
				t.changes = append(t.changes, fileChange{pc, ""})
				pc, file, last = 0, 1, none
			case lneSetAddress:
				pc = x.u64()
			}
		case op == lnsCopy:
			row()
		case op == lnsAdvancePC:
			pc += c.uleb() * t.minStep
		case op == lnsSetFile:
			file = c.uleb()
		case op == lnsConstAddPC:
			pc += (255 - base) / t.lineRange * t.minStep
		case op == lnsFixedAdvance:
			pc += uint64(c.u16())
		default:
			for range t.lengths[op-1] {
				c.uleb()
			}
		}
	}
	byPC := func(i, j int) bool { return t.changes[i].pc < t.changes[j].pc }
	if !sort.SliceIsSorted(t.changes, byPC) {
		sort.SliceStable(t.changes, byPC)
	}
}

// knownFile drops the names that stand for "no file" (go1.26 cmd/internal/obj and cmd/link).
func knownFile(name string) string {
	switch name {
	case "?", "??", "<autogenerated>":
		return ""
	}
	return name
}
