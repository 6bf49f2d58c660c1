package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// nameCuts are the functions outside of internal/symbol that cut text at a dot, with the reason why
// that does not decide which package a name belongs to.
var nameCuts = map[string]string{
	"cmd/leakgate/internal/auto/finding/judge.go: isBehindElement":         "of a path, behind the element: fields",
	"cmd/leakgate/internal/auto/source/handings.go: declaredName":          "behind the package, which symbol.Split tells",
	"cmd/leakgate/internal/command/alloc/gate.go: packageOf":               "a type's name in package reflect has the package's name, an identifier",
	"cmd/leakgate/internal/compare/profiles.go: pathName":                  "no cut: a dot for another character",
	"cmd/leakgate/internal/goldenset/folders.go: isPackageFolder":          "of a folder's name",
	"cmd/leakgate/internal/present/progress.go: endPackage":                "of a test's name, behind the package that ran it",
	"cmd/leakgate/leakvet/names.go: checkName":                             "of a pattern in source code, in which the packages are known",
	"golden/name.go: isReserved":                                           "of a file's name",
	"internal/engine/graph/attribute/claim.go: isNamed":                    "no cut: it tells predeclared types from others",
	"internal/engine/heap/heaptype/generic.go: isGenericName":              "no cut: it tells predeclared types from others",
	"internal/engine/heap/heaptype/link.go: LinkOfRoot":                    "of a label: fields",
	"internal/engine/heap/stackvar/stackvar.go: variables":                 "no cut: a part of a variable has fields in its name",
	"internal/engine/runtime/rtlayout/lookup.go: Field":                    "of a path of fields",
	"internal/engine/symbols/debuginfo/debuginfo.go: declaration":          "behind the package, which is known",
	"internal/engine/symbols/debuginfo/dwarfread/receivers.go: methodOf":   "behind the package, which is known: the method",
	"internal/engine/symbols/debuginfo/symindex/variables.go: methodValue": "behind the package, which is known: the method",
	"internal/engine/symbols/debuginfo/inventory.go: Declaration":          "behind the package, which symbol.Split tells",
	"internal/engine/symbols/debuginfo/missingfield.go: FieldMissing":      "of a path: fields",
	"internal/engine/symbols/objfile/anyfile/macho.go: goName":             "of a section's name",
	"leakcheck/internal/message/declaration.go: FieldOf":                   "of a branch's name: fields",
	"leakcheck/internal/message/goroutine.go: whyLeaked":                   "of a goroutine's state",
	"leakcheck/internal/message/trace.go: nameInFrame":                     "the variable of a function, which is an identifier",
	"cmd/leakgate/internal/auto/finding/handed.go: receiver":               "behind the package, which symbol.Split tells",
	"cmd/leakgate/internal/auto/finding/modules.go: written":               "behind the package, which is known: the function that is inlined",
	"cmd/leakgate/internal/auto/source/callat.go: CallAt":                  "behind the package, which symbol.Split tells",
	"cmd/leakgate/internal/auto/source/handings.go: Handings":              "behind the package, which is known: the function that is inlined",
	"leakcheck/internal/naming/pattern.go: AtBoundary":                     "of a path: fields; a pattern may end in the path of a package, too",
}

// TestNameCuts checks that internal/symbol alone decides where an import path ends in a name: the
// last element of a path may have dots, which are escaped in some names and not in others.
func TestNameCuts(t *testing.T) {
	used := make(map[string]bool)
	for _, file := range trackedFiles(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") ||
			strings.HasPrefix(file, "internal/symbol/") || strings.HasPrefix(file, "internal/tests/") ||
			strings.HasPrefix(file, "internal/testkit/") || strings.HasPrefix(file, "examples/") {
			continue
		}
		for _, name := range cutsIn(t, file, readFile(t, file)) {
			if used[name] = true; nameCuts[name] == "" {
				t.Errorf("%s cuts text at a dot: symbol.Package and symbol.Split tell where an import path ends", name)
			}
		}
	}
	for name := range nameCuts {
		if !used[name] {
			t.Errorf("%s is not needed in the table", name)
		}
	}
}

// cutters are the functions of packages strings and bytes that find or cut a separator.
var cutters = []string{"Cut", "Index", "LastIndex", "Split", "Fields", "Contains", "Replace", "Count"}

// cutsIn returns the functions that look for a dot, or for the linker's escape of one, in text.
func cutsIn(t *testing.T, name, source string) (cuts []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		function := "var"
		if f, ok := d.(*ast.FuncDecl); ok {
			function = f.Name.Name
		}
		found := false
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isCutter(call.Fun) {
				for _, arg := range call.Args[1:] {
					found = found || hasDot(arg)
				}
			}
			if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) && isByteOf(b.X) {
				found = found || hasDot(b.Y)
			}
			return true
		})
		if found {
			cuts = append(cuts, name+": "+function)
		}
	}
	return cuts
}

// isCutter reports whether an expression is one of the cutters, but for those that take a given
// prefix or suffix.
func isCutter(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name == "CutPrefix" || s.Sel.Name == "CutSuffix" {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	if !ok || pkg.Name != "strings" && pkg.Name != "bytes" {
		return false
	}
	for _, c := range cutters {
		if strings.HasPrefix(s.Sel.Name, c) {
			return true
		}
	}
	return false
}

// isByteOf reports whether an expression is a byte of a text.
func isByteOf(e ast.Expr) bool {
	_, ok := e.(*ast.IndexExpr)
	return ok
}

// hasDot reports whether an expression is a text or byte that is a dot, or has one as the linker
// writes it.
func hasDot(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING && lit.Kind != token.CHAR {
		return false
	}
	text, err := strconv.Unquote(lit.Value)
	return err == nil && (text == "." || strings.Contains(text, "%2e"))
}

func TestCutsIn(t *testing.T) {
	source := `package p
import "strings"
func cut(s string) { strings.Cut(s, ".") }
func last(s string) { _ = s[:strings.LastIndexByte(s, '.')] }
func unescape(s string) { strings.ReplaceAll(s, "%2e", ".") }
func loop(s string) { for i := range s { if s[i] == '.' { return } } }
var lookup = func(s string) { strings.Split(s, ".") }
func prefix(s string) { strings.CutPrefix(s, ".") }
func slash(s string) { strings.Cut(s, "/") }
func sentence(s string) { strings.Cut(s, ". ") }
func join(s string) string { return s + "." }
`
	assert.Equal(t, []string{"p.go: cut", "p.go: last", "p.go: unescape", "p.go: loop", "p.go: var"}, cutsIn(t, "p.go", source))
}
