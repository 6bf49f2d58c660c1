package message

import (
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// Declaration returns where a root is declared, an empty site if that is unknown. The compiler
// records the place for the variables of functions, not for package variables.
func Declaration(e *environ.Environment, root *tree.Branch) environ.Site {
	info := root.Root
	if info.File != "" || info.Kind != refscan.RootGlobal || e.Declared == nil {
		return environ.Site{File: info.File, Line: info.Line}
	}
	file, line := e.Declared(root.Name)
	return environ.Site{File: file, Line: line}
}
