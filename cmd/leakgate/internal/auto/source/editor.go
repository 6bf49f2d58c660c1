package source

import (
	"go/token"
	"slices"
)

// An editor adds text to the source of a file.
type editor struct {
	set *token.FileSet
	all []insertion
}

// An insertion is text that is added to the source.
type insertion struct {
	offset int
	text   string
}

func (e *editor) insert(at token.Pos, text string) {
	e.all = append(e.all, insertion{e.set.Position(at).Offset, text})
}

// apply returns the source with all that was added.
func (e *editor) apply(source []byte) []byte {
	slices.SortStableFunc(e.all, func(a, b insertion) int { return a.offset - b.offset })
	var out []byte
	at := 0
	for _, i := range e.all {
		out = append(append(out, source[at:i.offset]...), i.text...)
		at = i.offset
	}
	return append(out, source[at:]...)
}
