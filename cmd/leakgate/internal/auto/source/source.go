// Package source asks the source code of modules what a test binary does not say: which method ends
// the use of a type, what only tests use, and what tests assign to.
package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A Finder looks into the sources of modules. It may be used by several goroutines.
type Finder struct {
	Dirs map[string]string // of modules, by path

	mu       sync.Mutex
	found    map[string]*facts          // by package
	assigned map[string]map[string]bool // variables that a package's tests assign to, by package
}

// facts are those of one package, but for its tests.
type facts struct {
	methods map[string]string // that end the use of a type, by type
	used    map[string]bool   // names of functions that are mentioned, and of types that values are made of
}

// of returns the facts of a package. The first question about a package parses its files.
func (f *Finder) of(pkg string) *facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == nil {
		f.found = make(map[string]*facts)
	}
	known, ok := f.found[pkg]
	if !ok {
		if files := f.files(pkg, false); len(files) > 0 {
			known = &facts{methods(files), used(files)}
		}
		f.found[pkg] = known
	}
	return known
}

// files parses the files of a package, for all systems: those of its tests, or the others. It
// returns none if one of them cannot be read, or if the package is of no module here.
func (f *Finder) files(pkg string, tests bool) []*ast.File {
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
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil
		}
		files = append(files, file)
	}
	return files
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
