package refscan

import (
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// maxFrameName is the longest name of a frame in a profile, in bytes; steps in the middle of a
// longer path are left out. A path has at most a few hundred bytes unless thousands of levels are
// nested. Each level has a frame, so whole paths would take quadratic space then.
const maxFrameName = 240

// framePath is the path of a node, for the names of frames: the root's name, then one reference per
// level.
type framePath []string

// frameName names the frame of the last node of a path by the whole path, as messages and golden
// files write it ("example.com/app.sessions[*].Cart").
//
// The name has the whole path because pprof's -top and -peek show single frames, where a bare "[*]"
// says nothing. pprof's web interface shortens names until they fit their boxes: it drops the
// import path up to the last slash, then the text up to the first dot, then up to the next dot
// (github.com/google/pprof internal/graph ShortenFunctionName and internal/report shortNameList).
// What remains of a path is the field that the frame is about. Inside brackets and parentheses, as
// in "timer(example.com/app.(*Session).expire)", such a cut would leave "expire)". So dots are
// written as "·" there, as in Go's assembler; in pprof's patterns a dot matches them.
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
		name = symbol.JoinPath(name, step)
	}
	return escapeDots(name)
}

// escapeDots replaces dots inside brackets and parentheses by "·", at which pprof does not cut
// names. A receiver, "(*Server)", has no dots.
func escapeDots(name string) string {
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
