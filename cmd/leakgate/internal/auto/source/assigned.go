package source

import (
	"go/ast"
	"go/token"

	"github.com/leakgate/leakgate/internal/symbol"
)

// TestsAssign reports whether tests of pkg, or of the variable's own package, assign a value to a
// package variable, given by its full name. It compares names only: in tests of another package it
// looks for the last two elements of the name.
func (f *Finder) TestsAssign(variable, pkg string) bool {
	own, name := symbol.Split(variable)
	return f.testsAssign(own)[name] || f.testsAssign(pkg)[symbol.LastElement(own)+"."+name]
}

// testsAssign returns the names that tests of a package assign to. A variable of another package is
// listed with the name of the import, and also without it, since external tests import the package
// that they test. The first call for a package parses its tests.
func (f *Finder) testsAssign(pkg string) map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if names, ok := f.assigned[pkg]; ok {
		return names
	}
	names := make(map[string]bool)
	for _, file := range f.files(pkg, true) {
		ast.Inspect(file, func(n ast.Node) bool {
			if assign, ok := n.(*ast.AssignStmt); ok && assign.Tok == token.ASSIGN {
				for _, left := range assign.Lhs {
					note(names, left)
				}
			}
			return true
		})
	}
	if f.assigned == nil {
		f.assigned = make(map[string]map[string]bool)
	}
	f.assigned[pkg] = names
	return names
}

// note records the target of an assignment: a variable of this package or of another.
func note(names map[string]bool, left ast.Expr) {
	switch left := left.(type) {
	case *ast.Ident:
		names[left.Name] = true
	case *ast.SelectorExpr:
		if of, ok := left.X.(*ast.Ident); ok {
			names[of.Name+"."+left.Sel.Name] = true
			if token.IsExported(left.Sel.Name) {
				names[left.Sel.Name] = true
			}
		}
	}
}
