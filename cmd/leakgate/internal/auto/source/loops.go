package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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
	t := &ticker{editor: editor{set: set}, testing: importName(file)}
	if t.testing == "" {
		return nil, nil
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			t.function(f)
		}
	}
	if len(t.all) == 0 {
		return nil, nil
	}
	t.insert(file.Name.End(), fmt.Sprintf("; import %s %q", alias, pkg))
	return t.apply(source), nil
}

// alias is the name of the package with Tick in the file.
const alias = "leakgatetick"

// A ticker finds where calls are added.
type ticker struct {
	editor
	testing string          // name of package testing in the file
	bs, pbs map[string]bool // names of *testing.B and *testing.PB in the function
}

// function adds calls to the loops of a function.
func (t *ticker) function(f *ast.FuncDecl) {
	t.bs, t.pbs = make(map[string]bool), make(map[string]bool)
	t.note(f.Type)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		var call string
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncLit:
			t.note(n.Type)
		case *ast.ForStmt:
			call, body = t.callIn(n), n.Body
		case *ast.RangeStmt:
			call, body = t.tick(fieldN(n.X), true), n.Body
		}
		if call == "" {
			return true
		}
		t.insert(body.Lbrace+1, " "+call+";")
		return false // an inner loop is part of the iteration
	})
}

// note notes the parameters of a function that are a *testing.B or *testing.PB.
func (t *ticker) note(f *ast.FuncType) {
	for _, field := range f.Params.List {
		for _, n := range field.Names {
			switch pointee(field.Type, t.testing) {
			case "B":
				t.bs[n.Name] = true
			case "PB":
				t.pbs[n.Name] = true
			}
		}
	}
}

// callIn returns the call for a loop with a condition; "" if it has another one.
func (t *ticker) callIn(loop *ast.ForStmt) string {
	if pb := calledOn(loop.Cond, "Next"); t.pbs[pb] {
		return fmt.Sprintf("%s.TickParallel(%s)", alias, pb)
	}
	_, isLoop := loop.Cond.(*ast.CallExpr)
	return t.tick(benchmarkOf(loop.Cond), !isLoop)
}

// tick returns the call for a loop of b; "" if b is no *testing.B. counted says that the loop runs
// b.N times, which may be once.
func (t *ticker) tick(b string, counted bool) string {
	if !t.bs[b] {
		return ""
	}
	once := "false"
	if counted {
		once = b + ".N == 1"
	}
	return fmt.Sprintf("%s.Tick(%s, %s)", alias, b, once)
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
