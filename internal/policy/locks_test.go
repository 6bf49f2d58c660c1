package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// heldLocks are the functions that lock and leave the unlocking to their callers, with the reason
// why a panic leaves nothing locked.
var heldLocks = map[string]string{
	"internal/engine/capture/snapshot/capture.go: Turn": "it returns what unlocks, which callers defer",
	"internal/engine/heap/heaptype/table.go: maker":     "each caller defers done, which unlocks",
}

// TestLocks checks that each lock is released by a deferred call in the next statement. A panic in
// between, which an assertion turns into an error, would leave it locked, and the next assertion
// would wait for ever.
func TestLocks(t *testing.T) {
	used := make(map[string]bool)
	for _, file := range trackedFiles(t) {
		linked := false
		for _, folder := range []string{"refscan/", "leakcheck/", "stackprof/", "golden/", "internal/"} {
			linked = linked || strings.HasPrefix(file, folder)
		}
		if !linked || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/") {
			continue
		}
		for _, name := range heldIn(t, file, readFile(t, file)) {
			if used[name] = true; heldLocks[name] == "" {
				t.Errorf("%s locks without a deferred unlock in the next statement", name)
			}
		}
	}
	for name := range heldLocks {
		if !used[name] {
			t.Errorf("%s is not needed in the table", name)
		}
	}
}

// heldIn returns the functions that lock something without a deferred unlock as the next statement.
func heldIn(t *testing.T, name, source string) (held []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		ast.Inspect(function.Body, func(n ast.Node) bool {
			var list []ast.Stmt
			switch n := n.(type) {
			case *ast.BlockStmt:
				list = n.List
			case *ast.CaseClause:
				list = n.Body
			case *ast.CommClause:
				list = n.Body
			}
			for i, s := range list {
				x, unlock := locked(s)
				if unlock != "" && (i+1 == len(list) || !defers(list[i+1], x, unlock)) {
					held = append(held, name+": "+function.Name.Name)
				}
			}
			return true
		})
	}
	return held
}

// locked returns what a statement locks, and the name of the method that unlocks it.
func locked(s ast.Stmt) (x, unlock string) {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return "", ""
	}
	x, method := called(e.X)
	switch method {
	case "Lock":
		return x, "Unlock"
	case "RLock":
		return x, "RUnlock"
	}
	return "", ""
}

func defers(s ast.Stmt, x, unlock string) bool {
	d, ok := s.(*ast.DeferStmt)
	if !ok {
		return false
	}
	what, method := called(d.Call)
	return what == x && method == unlock
}

// called returns, for a call of a method without arguments, its receiver as text and the method's
// name.
func called(e ast.Expr) (x, method string) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return "", ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	return selected(sel.X), sel.Sel.Name
}

func selected(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return selected(e.X) + "." + e.Sel.Name
	}
	return "?"
}

func TestLocksAreSeen(t *testing.T) {
	for body, want := range map[string]int{
		"x.mu.Lock(); defer x.mu.Unlock(); use()":              0,
		"x.RLock(); defer x.RUnlock()":                         0,
		"x.mu.Lock(); use(); x.mu.Unlock()":                    1,
		"x.mu.Lock(); defer y.mu.Unlock()":                     1,
		"x.RLock(); defer x.Unlock()":                          1,
		"if use() { x.Lock() }":                                1,
		"go func() { x.Lock(); use(); x.Unlock() }()":          1,
		"switch { case use(): x.Lock(); defer x.Unlock() }":    0,
		"switch { case use(): x.Lock(); use() }; x.Lock(1); _": 1,
	} {
		source := "package p\nfunc f() { " + strings.TrimSuffix(body, "; _") + " }"
		assert.Len(t, heldIn(t, "x.go", source), want, body)
	}
}
