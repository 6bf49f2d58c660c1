package refscan

import (
	"strings"

	"github.com/leakgate/leakgate/internal/nodename"
)

// maxFrameName is how long a frame's name in a profile may get, in bytes, before steps in its
// middle are left out. A path has at most a few hundred bytes unless thousands of levels are
// nested, and then every one of them has a frame.
const maxFrameName = 240

// framePath is where a node is, for the names of frames: the root's name, then a reference for each
// level.
type framePath []string

// frameName is the name of the frame for the last node of a path: the whole path, as messages and
// golden files write it ("example.com/app.sessions[*].Cart").
//
// A frame has the whole path because pprof shows frames without what is around them in -top and
// -peek, where a bare "[*]" says nothing. And its web interface drops the import path before the
// last slash, then all up to a dot, and up to the next, until the name is as narrow as its box
// (github.com/google/pprof internal/graph ShortenFunctionName and internal/report shortNameList):
// of a path the field that the frame is about is left. Inside of brackets and parentheses, as in
// "timer(example.com/app.(*Session).expire)", such a cut would leave "expire)", so dots are written
// as "·" there, as in Go's assembler; in pprof's patterns a dot finds them.
func (p framePath) frameName() string {
	room := maxFrameName - len(p[0])
	first := len(p) // the first step that is shown
	for first > 1 && (room >= len(p[first-1])+1 || first == len(p)) {
		first--
		room -= len(p[first]) + 1
	}
	name := p[0]
	if first > 1 {
		name += "…"
	}
	for _, step := range p[first:] {
		name = nodename.Join(name, step)
	}
	return uncut(name)
}

// uncut replaces dots inside of brackets and parentheses by what pprof does not cut at. A receiver,
// "(*Server)", has none.
func uncut(name string) string {
	if !strings.ContainsAny(name, "([") {
		return name
	}
	var b strings.Builder
	depth := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '.' && depth > 0:
			b.WriteString("·")
			continue
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		}
		b.WriteByte(name[i])
	}
	return b.String()
}
