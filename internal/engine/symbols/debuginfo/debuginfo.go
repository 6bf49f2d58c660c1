// Package debuginfo answers what the compiler knew about a Go program: its package variables,
// types, functions, their local variables and what closures capture. It reads DWARF once, keeps a
// compact index in the user's cache, and serves later processes from that.
//
// It is the entry point to the packages below it: dwarfread reads the debug information of an
// executable (package objfile) into a symindex.Program; symindex encodes it as an index, answers
// queries, and keeps indexes between runs; twin links a program without debug information a second
// time, and checks that the twin is the same program.
package debuginfo

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/twin"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// Types of the index and of its results.
type (
	Index    = symindex.Index
	TypeID   = symindex.TypeID
	Type     = symindex.Type
	Field    = symindex.Field
	Global   = symindex.Global
	Func     = symindex.Func
	Local    = symindex.Local
	Place    = symindex.Place
	Span     = symindex.Span
	DictType = symindex.DictType
	Capture  = symindex.Capture
)

// ReceiverName is the name of a captured receiver.
const ReceiverName = symindex.ReceiverName

// Unavailable is the error for debug information that can neither be read nor built. It states the
// cause in one sentence, and what the user can do.
type Unavailable = twin.Unavailable

// Build indexes an executable that has DWARF. It neither reads nor writes the cache. It uses all
// processors and takes about 15 ms for each MB of a binary's size on two cores. The index keeps no
// reference to f.
func Build(f *objfile.File) (*Index, error) {
	p, err := dwarfread.Read(f)
	if err != nil {
		return nil, fmt.Errorf("debuginfo: %s: %w", f.Path, err)
	}
	return symindex.New(p), nil
}

// Declaration returns the file and line that declare a package variable, or "" and 0 if they cannot
// be found. The linker writes no source position for variables (go1.26 and 1.27
// cmd/internal/dwarf/dwarf.go, DW_ABRV_VARIABLE), so Declaration scans the package's source files,
// which the compiler's file names lead to. That takes some milliseconds for ten files: call it for
// failure messages, not for every root.
//
// With -trimpath the compiler's file names are not paths. Then Declaration finds only packages of
// the module under test, and only in a test that was started in its package's folder, as go test
// does.
func Declaration(x *Index, g Global) (file string, line int) {
	return declaration(x, g, twin.SourceFile)
}

// declaration is Declaration with find, which maps the compiler's name of a file to its path.
func declaration(x *Index, g Global, find func(string) string) (file string, line int) {
	name, ok := strings.CutPrefix(g.Name, g.Package+".")
	if !ok || g.Package == "" || name == "" || strings.Contains(name, ".") {
		return "", 0
	}
	return findDeclaration(x.SourceFiles(g.Package), find, func(src []byte) int { return variableLine(src, name) })
}

// FieldDeclaration is Declaration for a field of a struct type, whose place the linker does not
// write either.
func FieldDeclaration(x *Index, pkg, typ, field string) (file string, line int) {
	return findDeclaration(x.SourceFiles(pkg), twin.SourceFile, func(src []byte) int { return fieldLine(src, typ, field) })
}
