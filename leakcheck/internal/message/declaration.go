package message

import (
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// Declaration returns where a root is declared, or the function of a temporary value; an empty site
// if that is unknown. The compiler records the place for the variables of functions, not for
// package variables.
func Declaration(e *environ.Environment, root *tree.Branch) environ.Site {
	info := root.Root
	if info.File != "" || info.Kind != refscan.RootGlobal && !isTemporary(root) || e.Declared == nil {
		return environ.Site{File: info.File, Line: info.Line}
	}
	file, line := e.Declared(root.Name)
	return environ.Site{File: file, Line: line}
}

// isTemporary reports whether a root stands for values that no variable of a function has.
func isTemporary(root *tree.Branch) bool { return strings.HasSuffix(root.Name, "."+symbol.Temporary) }

// FieldOf returns the field of one of the program's structs in which a branch lies, such as "field
// conns of example.com/app.Pool (pool.go:17)"; "" if there is none, or it is a test's.
func FieldOf(b *tree.Branch, e *environ.Environment) string {
	for ; b.Parent != nil; b = b.Parent {
		typ, _, _ := strings.Cut(strings.TrimLeft(b.Parent.Typ, "*"), "[")
		field, _, _ := strings.Cut(b.Name, ".")
		if pkg := symbol.Package(typ); pkg == "" || field == "" || !symbol.IsWord(field[0]) || !e.IsProgram(pkg) {
			continue
		}
		s := "field " + field + " of " + typ
		if e.Declared != nil {
			file, line := e.Declared(typ + "." + field)
			if strings.HasSuffix(file, "_test.go") {
				return ""
			}
			if at := e.Place(file, line); at != "" {
				s += " (" + at + ")"
			}
		}
		return s
	}
	return ""
}
