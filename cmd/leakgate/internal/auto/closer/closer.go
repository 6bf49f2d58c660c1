// Package closer says which types have a method that ends their use.
package closer

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// names of methods that end the use of their receiver, in lower case: there are Shutdown and
// ShutDown, and tests of a package call stop as well as Stop.
var names = []string{
	"close", "stop", "shutdown", "shutdownwithdrain", "cancel", "stopandwait", "terminate", "gracefulstop", "quit", "halt", "dispose",
	"destroy", "disconnect", "drain",
}

// A Finder looks into the sources of modules. It may be used by several goroutines.
type Finder struct {
	Dirs map[string]string // of modules, by path

	mu    sync.Mutex
	found map[string]map[string]string // methods by package and type
}

// Method returns the method that ends the use of a type, given by its full name with "*" before it
// and type arguments after it or not; "" if there is none, or if the type is of no module here. The
// first question about a package parses its files.
func (f *Finder) Method(typ string) string {
	typ = strings.TrimLeft(typ, "*")
	typ, _, _ = strings.Cut(typ, "[")
	dot := strings.LastIndexByte(typ, '.')
	if dot < 0 || strings.ContainsAny(typ, " {(") {
		return ""
	}
	pkg, name := typ[:dot], typ[dot+1:]
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == nil {
		f.found = make(map[string]map[string]string)
	}
	methods, ok := f.found[pkg]
	if !ok {
		methods = f.read(pkg)
		f.found[pkg] = methods
	}
	return methods[name]
}

// read finds the methods of a package. What cannot be read has none.
func (f *Finder) read(pkg string) map[string]string {
	module := ""
	for path := range f.Dirs {
		if (pkg == path || strings.HasPrefix(pkg, path+"/")) && len(path) > len(module) {
			module = path
		}
	}
	if module == "" {
		return nil
	}
	dir := filepath.Join(f.Dirs[module], filepath.FromSlash(strings.TrimPrefix(pkg, module)))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	methods := make(map[string]string)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range file.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && len(m.Recv.List) == 1 && slices.Contains(names, strings.ToLower(m.Name.Name)) {
				if receiver := typeName(m.Recv.List[0].Type); methods[receiver] == "" {
					methods[receiver] = m.Name.Name
				}
			}
		}
	}
	return methods
}

// typeName is the name of a receiver's type.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
