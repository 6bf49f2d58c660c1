package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// Loops returns the source of a test file with a call of pkg.Tick(b, once) at the head of each loop
// over b.N, range b.N or b.Loop(), where b is a *testing.B, and of pkg.TickParallel(pb) in loops
// over pb.Next(), where pb is a *testing.PB; nil if there is no such loop. Calls and the import are
// added to existing lines, so that no line moves.
//
// The benchmark can then be held there, one iteration at a time. That shows what a client or server
// keeps that lives as long as the benchmark.
func Loops(name string, source []byte, pkg string) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	type insertion struct {
		offset int
		text   string
	}
	var all []insertion
	const alias = "leakgatetick"
	testing := importName(file)
	if testing == "" {
		return nil, nil
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		bs, pbs := make(map[string]bool), make(map[string]bool) // names of *testing.B and *testing.PB
		note := func(t *ast.FuncType) {
			for _, field := range t.Params.List {
				for _, n := range field.Names {
					switch pointee(field.Type, testing) {
					case "B":
						bs[n.Name] = true
					case "PB":
						pbs[n.Name] = true
					}
				}
			}
		}
		note(f.Type)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			var body *ast.BlockStmt
			var b string
			once := "false"
			switch n := n.(type) {
			case *ast.FuncLit:
				note(n.Type)
			case *ast.ForStmt:
				if pb := calledOn(n.Cond, "Next"); pbs[pb] {
					all = append(all, insertion{set.Position(n.Body.Lbrace).Offset + 1, fmt.Sprintf(" %s.TickParallel(%s);", alias, pb)})
					return false
				}
				if n.Cond != nil {
					b, body = benchmarkOf(n.Cond), n.Body
					if _, isLoop := n.Cond.(*ast.CallExpr); !isLoop {
						once = b + ".N == 1"
					}
				}
			case *ast.RangeStmt:
				b, body = fieldN(n.X), n.Body
				once = b + ".N == 1"
			}
			if body == nil || !bs[b] {
				return true
			}
			all = append(all, insertion{set.Position(body.Lbrace).Offset + 1, fmt.Sprintf(" %s.Tick(%s, %s);", alias, b, once)})
			return false // an inner loop is part of the iteration
		})
	}
	if len(all) == 0 {
		return nil, nil
	}
	all = append(all, insertion{set.Position(file.Name.End()).Offset, fmt.Sprintf("; import %s %q", alias, pkg)})
	slices.SortFunc(all, func(a, b insertion) int { return a.offset - b.offset })
	var out []byte
	at := 0
	for _, i := range all {
		out = append(append(out, source[at:i.offset]...), i.text...)
		at = i.offset
	}
	return append(out, source[at:]...), nil
}

// importName returns the name under which a file imports package testing; "" if it does not.
func importName(file *ast.File) string {
	for _, i := range file.Imports {
		if i.Path.Value != `"testing"` {
			continue
		}
		if i.Name == nil {
			return "testing"
		}
		return i.Name.Name
	}
	return ""
}

// pointee returns the name of a type of package testing that t is a pointer to; "" for other types.
func pointee(t ast.Expr, testing string) string {
	star, ok := t.(*ast.StarExpr)
	if !ok {
		return ""
	}
	if testing == "." {
		return identifier(star.X)
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	if !ok || identifier(sel.X) != testing {
		return ""
	}
	return sel.Sel.Name
}

// benchmarkOf returns the name of b in "i < b.N", "b.N > i", "i < b.N/2" and "b.Loop()"; "" for
// other conditions.
func benchmarkOf(cond ast.Expr) string {
	switch c := cond.(type) {
	case *ast.BinaryExpr:
		for _, side := range []ast.Expr{c.X, c.Y} {
			if m, ok := side.(*ast.BinaryExpr); ok {
				side = m.X
			}
			if b := fieldN(side); b != "" {
				return b
			}
		}
	case *ast.CallExpr:
		return calledOn(c, "Loop")
	}
	return ""
}

// calledOn returns x of "x.method()", else "".
func calledOn(e ast.Expr, method string) string {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return ""
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == method {
		return identifier(sel.X)
	}
	return ""
}

// fieldN returns x of "x.N", else "".
func fieldN(e ast.Expr) string {
	if sel, ok := e.(*ast.SelectorExpr); ok && sel.Sel.Name == "N" {
		return identifier(sel.X)
	}
	return ""
}

func identifier(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
