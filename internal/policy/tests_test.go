package policy

import (
	"go/ast"
	"strings"
	"testing"
)

// longestTest is how many lines a test function may have. Cases go into a table, or into files.
const longestTest = 120

// TestTestFunctions checks the length of test functions. It also checks that slow tests of the main
// module call require.Slow, IsSlow or Rounds themselves, because .ci/run finds them by these calls.
func TestTestFunctions(t *testing.T) {
	for _, file := range trackedFiles(t) {
		if !strings.HasSuffix(file, ".go") || strings.Contains(file, "/testdata/") || strings.HasPrefix(file, "internal/testkit/require/") {
			continue
		}
		fset, decls := declarations(t, file)
		for _, decl := range decls {
			name := ""
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				name = f.Name.Name
			}
			isTest := strings.HasSuffix(file, "_test.go") && strings.HasPrefix(name, "Test")
			if lines := fset.Position(decl.End()).Line - fset.Position(decl.Pos()).Line + 1; isTest && lines > longestTest {
				t.Errorf("%s: %s has %d lines: more than %d", fset.Position(decl.Pos()), name, lines, longestTest)
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok || isTest {
					return true
				}
				if x, ok := call.X.(*ast.Ident); ok && x.Name == "require" && slowness[call.Sel.Name] {
					t.Errorf("%s: require.%s outside of a test function: .ci/run would not find the test", fset.Position(n.Pos()), call.Sel.Name)
				}
				return true
			})
		}
	}
}

var slowness = map[string]bool{"Slow": true, "IsSlow": true, "Rounds": true}
