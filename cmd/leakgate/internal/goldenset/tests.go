package goldenset

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/golden"
)

// tests is what the test files of one folder contain, whatever their build constraints.
type tests struct {
	// names of tests, by the first element of their golden files
	funcs     map[string]string
	literals  map[string]string // string literals, by the golden file that each names
	leakcheck bool              // one of them imports leakcheck
	computed  string            // position of a computed golden name: "file:line"
	bad       string            // what is wrong with a file that does not parse
}

func (ts *tests) broken() bool { return ts.bad != "" }

func readTests(folder string) (*tests, error) {
	ts := &tests{funcs: make(map[string]string), literals: make(map[string]string)}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") || entry.IsDir() {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join(folder, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			ts.bad = fmt.Sprintf("%s does not parse", entry.Name())
			continue
		}
		ts.read(fset, file)
	}
	return ts, nil
}

func (ts *tests) read(fset *token.FileSet, file *ast.File) {
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && path == gotest.LeakcheckPath {
			ts.leakcheck = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && isTestName(n.Name.Name) {
				ts.funcs[firstElement(n.Name.Name)] = n.Name.Name
			}
		case *ast.BasicLit:
			ts.literal(n)
		case *ast.CallExpr:
			if len(n.Args) == 1 && calls(n, "Golden") && !isLiteral(n.Args[0]) {
				pos := fset.Position(n.Pos())
				ts.computed = fmt.Sprintf("%s:%d", filepath.Base(pos.Filename), pos.Line)
			}
		}
		return true
	})
}

// literal records the golden file that a string literal may name.
func (ts *tests) literal(lit *ast.BasicLit) {
	if lit.Kind != token.STRING {
		return
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return
	}
	if name, err := golden.FileName(text); err == nil {
		ts.literals[name] = text
	}
}

func calls(call *ast.CallExpr, name string) bool {
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		return fun.Sel.Name == name
	case *ast.Ident:
		return fun.Name == name
	}
	return false
}

func isLiteral(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}

// isTestName reports whether a function may be one that the testing package runs.
func isTestName(name string) bool {
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// firstElement returns the first element of the golden files of a test and its subtests, without
// extension.
func firstElement(test string) string {
	name, err := golden.FileName(test)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(name, golden.Extension)
}

// owner returns the test or golden name that a golden file belongs to.
func (ts *tests) owner(file string) (state State, owner, why string) {
	// A file for what op allocates with Go 1.26 has "~go1.26" before the extension, and one for the
	// nth comparison of a test "~n". A hash has 16 digits there, and stays.
	base := strings.TrimSuffix(file, golden.Extension)
	for {
		i := strings.LastIndexByte(base, '~')
		if i < 0 || len(base)-i >= len("~0123456789abcdef") || strings.Contains(base[i:], "/") {
			break
		}
		base = base[:i]
	}
	if literal, ok := ts.literals[base+golden.Extension]; ok {
		return Owned, literal, ""
	}
	first, sub, _ := strings.Cut(base, "/")
	if test, ok := ts.funcs[first]; ok {
		if name, ok := golden.TestName(base + golden.Extension); ok {
			return Owned, name, ""
		}
		return Owned, test, "" // a subtest's name that was too long
	}
	name, ok := golden.TestName(first + golden.Extension)
	if !ok {
		name = first
	}
	if sub != "" {
		name += "/" + sub
	}
	switch {
	case ts.broken():
		return Unclear, name, ts.bad
	case ts.computed != "":
		return Unclear, name, "the golden name at " + ts.computed + " is computed"
	case isTestName(name):
		return Orphaned, name, "there is no " + strings.SplitN(name, "/", 2)[0] + " in its package"
	}
	return Orphaned, name, "no test in its package mentions " + strconv.Quote(name)
}
