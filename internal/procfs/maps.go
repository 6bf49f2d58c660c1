// Package procfs reads files of /proc: the lines of /proc/PID/maps, the headers in /proc/PID/smaps,
// and /proc/PID/stat (proc(5)).
package procfs

import (
	"bytes"
	"iter"
	"strconv"
)

// An Area is a mapping of a process. Mode and Name are parts of the line.
type Area struct {
	Start, End uint64
	Mode       []byte // "rw-p"
	Name       []byte // of a file, "[heap]" and the like, or nothing
}

// Size is the length of the mapping, in bytes.
func (a *Area) Size() int64 { return int64(a.End - a.Start) }

// Constant reports whether the memory may be read but not written.
func (a *Area) Constant() bool { return a.Mode[0] == 'r' && a.Mode[1] == '-' }

// Parse parses a line: "7f00-7f10 rw-p 00000000 00:00 0    name". ok is false for other lines, as
// smaps has them. It allocates nothing.
func Parse(line []byte) (a Area, ok bool) {
	dash := bytes.IndexByte(line, '-')
	space := bytes.IndexByte(line, ' ')
	if dash < 0 || space < dash || len(line) < space+6 {
		return a, false
	}
	var err1, err2 error
	a.Start, err1 = strconv.ParseUint(string(line[:dash]), 16, 64)
	a.End, err2 = strconv.ParseUint(string(line[dash+1:space]), 16, 64)
	a.Mode = line[space+1 : space+5]
	rest := line[space+5:]
	for range 3 { // offset, device, inode
		rest = bytes.TrimLeft(rest, " ")
		next := bytes.IndexByte(rest, ' ')
		if next < 0 {
			next = len(rest)
		}
		rest = rest[next:]
	}
	a.Name = bytes.TrimLeft(rest, " ")
	return a, err1 == nil && err2 == nil && a.End >= a.Start
}

// Areas yields the mappings of a file of maps, by address. It leaves out lines of other kinds.
func Areas(list []byte) iter.Seq[Area] {
	return func(yield func(Area) bool) {
		for line := range bytes.Lines(list) {
			if a, ok := Parse(bytes.TrimSuffix(line, []byte{'\n'})); ok && !yield(a) {
				return
			}
		}
	}
}
