package inplace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/assert"
	"github.com/leakgate/leakgate/internal/require"
)

// While the caller is pinned, nothing may block, allocate, grow the stack or be looked at by the
// race detector: functions of the walk are marked so, and call nothing but each other and memmove.
func TestWalkIsBare(t *testing.T) {
	parse := func(name string) *ast.File {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		return file
	}
	file, peek := parse("walk.go"), parse("../peek/peek.go")
	bare := map[string]bool{"memmove": true, "uint8": true, "uintptr": true, "Sizeof": true, "Pointer": true}
	bodies := 0
	for _, d := range slices.Concat(file.Decls, peek.Decls) {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name == "Bytes" { // which the walk may not call
			continue
		}
		bodies++
		bare[f.Name.Name] = true
		for _, mark := range []string{"//go:nosplit", "//go:norace", "//go:nocheckptr"} {
			assert.True(t, f.Doc != nil && strings.Contains(docOf(f), mark), "%s is not marked %s", f.Name.Name, mark)
		}
	}
	require.Greater(t, bodies, 5)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := ""
			switch fun := n.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
			case *ast.ParenExpr: // a conversion
				return true
			}
			assert.True(t, bare[name], "a call of %q", name)
		case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt, *ast.CompositeLit, *ast.SendStmt, *ast.SelectStmt, *ast.RangeStmt:
			if lit, ok := n.(*ast.CompositeLit); ok {
				if name, ok := lit.Type.(*ast.Ident); ok && name.Name == "region" {
					return true // a value
				}
			}
			t.Errorf("%T in the walk", n)
		}
		return true
	})
}

func docOf(f *ast.FuncDecl) string {
	var b strings.Builder
	for _, c := range f.Doc.List {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}
