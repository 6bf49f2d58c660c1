// Package debuginfo answers what the compiler knew about a Go program: its package variables,
// types, functions, their local variables and what closures capture. It reads DWARF once, keeps a
// compact index in the user's cache, and serves later processes from that.
//
// It is the door to the packages below it: dwarfread reads the debug information of an executable
// (package objfile) into a program.Program, symindex makes that an index and answers from it,
// indexcache keeps indexes between runs, twin links a program without debug information again,
// sameprogram checks what that gave, and gosource looks into the source.
package debuginfo

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/debuginfo/gosource"
	"github.com/leakgate/leakgate/internal/engine/debuginfo/program"
	"github.com/leakgate/leakgate/internal/engine/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/debuginfo/twin"
	"github.com/leakgate/leakgate/internal/engine/objfile"
)

// What an index answers with.
type (
	Index    = symindex.Index
	TypeID   = program.TypeID
	Type     = program.Type
	Field    = program.Field
	Global   = program.Global
	Func     = program.Func
	Local    = program.Local
	Place    = program.Place
	DictType = program.DictType
	Capture  = program.Capture
)

// Unavailable is the error when a program's debug information cannot be had: the cause in a
// sentence, and what the user can do.
type Unavailable = twin.Unavailable

// Build indexes an executable that has DWARF, without looking at or writing a cache. It uses all
// processors: about 15 ms for each MB of a binary's size on two cores. It keeps nothing of the
// file.
func Build(f *objfile.File) (*Index, error) {
	p, err := dwarfread.Read(f)
	if err != nil {
		return nil, fmt.Errorf("debuginfo: %s: %w", f.Path, err)
	}
	return symindex.New(p), nil
}

// Declaration finds the file and line that declare a package variable, "" and 0 if they cannot be
// found. The linker writes no position of variables (go1.26 and 1.27 cmd/internal/dwarf/dwarf.go,
// DW_ABRV_VARIABLE), so this looks into the package's source, where the compiler's file names say
// it is. It parses the package's files, some milliseconds for ten: for failure messages, not for
// every root.
//
// With -trimpath the names are not those of files; then only packages of the module under test are
// found, and only in a test that was started in its package's folder, as go test does.
func Declaration(x *Index, g Global) (file string, line int) {
	return declaration(x, g, twin.SourceFile)
}

// declaration does so with a function that finds a file by the compiler's name for it.
func declaration(x *Index, g Global, find func(string) string) (file string, line int) {
	name, ok := strings.CutPrefix(g.Name, g.Package+".")
	if !ok || g.Package == "" || name == "" || strings.Contains(name, ".") {
		return "", 0
	}
	return gosource.Declaration(name, x.SourceFiles(g.Package), find)
}
