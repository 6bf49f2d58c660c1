package source

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// OnlyTests takes the name of a function, as in stack traces, and returns the function or type that
// only tests use; "" if there is none. That is an unexported function of a module here that no file
// but those of tests mentions, or, for a method, an unexported type of which no other file makes a
// value. It compares names only: a name that also stands for something else counts as used. A
// function literal that is inlined into a test has the name of one of the test's, and is none.
func (f *Finder) OnlyTests(function string) string {
	pkg, name := symbol.Split(function)
	name = declared(name)
	if name == "" || token.IsExported(name) || name == "init" || name == "main" {
		return ""
	}
	known := f.of(pkg)
	if known == nil || known.used[name] || !known.declares(name) {
		return ""
	}
	return symbol.LastElement(pkg) + "." + name
}

// declares reports whether there is a function of a name, or a type with methods.
func (f *facts) declares(name string) bool {
	for declared := range f.functions {
		if declared == name || strings.HasPrefix(declared, name+".") {
			return true
		}
	}
	return false
}

// declared returns the name of the declaration that a function's name within its package begins
// with: "source" of "(*source[...]).init.func1" and "source.get", "start" of "start.func1"; "" if
// the compiler made the function.
func declared(name string) string {
	name = strings.TrimPrefix(name, "(*")
	if i := strings.IndexAny(name, ".[)"); i >= 0 {
		name = name[:i]
	}
	if !token.IsIdentifier(name) || name == "glob" { // "glob..func1" is a function literal of a variable
		return ""
	}
	return name
}

// used returns the names that files use. The name of a type counts where a value of it may be made:
// not after "*", not in a type assertion or type switch, not as a receiver, and not within the
// type's own methods, which need a value to be called. The name of a function counts within other
// declarations. Names in "//go:linkname" count.
func used(files []*ast.File) map[string]bool {
	found := make(map[string]bool)
	for _, file := range files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if fields := strings.Fields(c.Text); len(fields) > 1 && fields[0] == "//go:linkname" {
					found[fields[1]] = true
				}
			}
		}
		for _, d := range file.Decls {
			var own string
			if fn, ok := d.(*ast.FuncDecl); ok {
				own = fn.Name.Name
				if fn.Recv != nil && len(fn.Recv.List) == 1 {
					own = typeName(fn.Recv.List[0].Type)
				}
			}
			ast.Walk(&uses{own, found}, d)
		}
	}
	return found
}

// uses is a visitor that records the names that a declaration uses, except its own.
type uses struct {
	own   string
	found map[string]bool
}

func (u *uses) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.Ident:
		if n.Name != u.own {
			u.found[n.Name] = true
		}
	case *ast.FuncDecl:
		ast.Walk(u, n.Type)
		if n.Body != nil {
			ast.Walk(u, n.Body)
		}
		return nil // neither its name nor its receiver
	case *ast.TypeSpec:
		in := &uses{n.Name.Name, u.found}
		if n.TypeParams != nil {
			ast.Walk(in, n.TypeParams)
		}
		ast.Walk(in, n.Type)
		return nil
	case *ast.StructType:
		u.all(n) // a decoder may make the value that a field points to
		return nil
	case *ast.CallExpr:
		if len(n.Args) == 1 && !isNil(n.Args[0]) {
			u.all(n.Fun) // a pointer of another type may be converted
		}
	case *ast.StarExpr:
		if _, ok := n.X.(*ast.Ident); ok {
			return nil
		}
	case *ast.TypeAssertExpr:
		ast.Walk(u, n.X)
		return nil
	case *ast.TypeSwitchStmt:
		if n.Init != nil {
			ast.Walk(u, n.Init)
		}
		ast.Walk(u, n.Assign)
		for _, c := range n.Body.List {
			for _, s := range c.(*ast.CaseClause).Body {
				ast.Walk(u, s)
			}
		}
		return nil
	}
	return u
}

// all records all names within n.
func (u *uses) all(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name != u.own {
			u.found[id.Name] = true
		}
		return true
	})
}

func isNil(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "nil"
}
