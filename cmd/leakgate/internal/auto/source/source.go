// Package source reads the source code of modules for leakgate run -auto: which functions it may
// repeat, which are those that package testing would run, and benchmarks; and what a test binary
// does not say: which method ends the use of a type, what only tests use, and what tests assign to.
// It also adds calls to the loops of benchmarks.
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
	Dirs map[string]string // folders of modules, by module path

	mu       sync.Mutex
	found    map[string]*facts          // by package
	assigned map[string]map[string]bool // variables that a package's tests assign to, by package
}

// facts are about one package, without its test files.
type facts struct {
	ends      map[string]ending   // how the use of a type is ended, by type
	owners    map[string][]string // types whose end is that of a type without one, by that type
	functions map[string]declaration
	values    map[string]ast.Expr // with which constants and variables are declared
	undo      map[string]undoing  // what undoes what a function does, by its name
	used      map[string]bool     // names of functions that are mentioned, and of types that values are made of
}

func factsOf(files []*ast.File) *facts {
	f := &facts{ends: methodsThatEnd(files), functions: functionsOf(files), values: valuesOf(files), used: used(files)}
	f.owners, f.undo = owners(files, f.ends), undoingOf(f.functions)
	return f
}

// of returns the facts of a package; nil without files. The first call for a package parses them.
func (f *Finder) of(pkg string) *facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == nil {
		f.found = make(map[string]*facts)
	}
	known, ok := f.found[pkg]
	if !ok {
		if files := f.files(pkg, false); len(files) > 0 {
			known = factsOf(files)
		}
		f.found[pkg] = known
	}
	return known
}

// files parses the files of a package, for all systems: its test files, or the other files. It
// returns none if one of them cannot be read, or if the package is in no module of Dirs.
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
