package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// lifetimes is the name of package ended in a file that is instrumented.
const lifetimes = "leakgateended"

// Instrument returns the source of a file of a package with calls of package ended, whose import
// path is given: for results that callers end, and in methods that end them; nil if there is
// nothing to add. No line moves.
func (f *Finder) Instrument(pkg, name, ended string) ([]byte, error) {
	known := f.of(pkg)
	if known == nil {
		return nil, nil
	}
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil || slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` }) {
		return nil, nil // it does not build, or cgo generates the code
	}
	e := &editor{set: set}
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !hasDirective(fn) && fn.Name.Name != "_" {
			e.function(pkg, fn, f.handings(pkg, known, file, fn))
			e.ending(pkg, known, fn)
		}
	}
	if len(e.all) == 0 {
		return nil, nil
	}
	e.insert(file.Name.End(), fmt.Sprintf("; import %s %q", lifetimes, ended))
	return e.apply(source), nil
}

// hasDirective reports whether a function has a comment for the compiler, such as "//go:nosplit".
func hasDirective(fn *ast.FuncDecl) bool {
	return fn.Doc != nil && slices.ContainsFunc(fn.Doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "//export ")
	})
}

// function adds the calls for what a function hands out and is given.
func (e *editor) function(pkg string, fn *ast.FuncDecl, handings []Handing) {
	var results []string
	code := ""
	for _, h := range handings {
		switch h.call {
		case "MadeValue":
			code += fmt.Sprintf(" %s.MadeValue(%q);", lifetimes, h.Key)
		case "Made", "MadeBody", "MadeFunc", "MadeField", "MadeWithFunc":
			if results == nil {
				results = e.nameResults(fn.Type.Results)
			}
			name := results[h.result]
			if name == "_" {
				continue
			}
			fields := ""
			for _, f := range h.fields {
				fields += fmt.Sprintf(", %q", f)
			}
			key := h.Key
			if h.call == "Made" {
				key = pkg + "." + nameOf(fn)
			}
			code += fmt.Sprintf(" defer %s.%s(%q, &%s%s);", lifetimes, h.call, key, name, fields)
		case "Passed":
			code += fmt.Sprintf(" %s.Passed(%q, %s);", lifetimes, h.Key, h.param)
		case "Did":
			code += fmt.Sprintf(" %s.Did(%q);", lifetimes, h.Key)
		}
	}
	if code != "" {
		e.insert(fn.Body.Lbrace+1, code)
	}
}

// nameResults gives names to results that have none, and returns the names of all.
func (e *editor) nameResults(list *ast.FieldList) (names []string) {
	for i, field := range list.List {
		for _, n := range field.Names {
			names = append(names, n.Name)
		}
		if len(field.Names) == 0 {
			name := fmt.Sprintf("leakgateresult%d", i)
			names = append(names, name)
			if !list.Opening.IsValid() {
				name = "(" + name
				e.insert(field.End(), ")")
			}
			e.insert(field.Pos(), name+" ")
		}
	}
	return names
}

// ending adds the calls for a method that ends the use of its receiver, and for functions that undo
// what others do.
func (e *editor) ending(pkg string, known *facts, fn *ast.FuncDecl) {
	code := ""
	for _, name := range known.undoes(fn) {
		code += fmt.Sprintf(" %s.Undid(%q);", lifetimes, pkg+"."+name)
	}
	switch {
	case !known.endsUse(fn):
	case !isPointerMethod(fn):
		code += fmt.Sprintf(" %s.EndedValue(%q);", lifetimes, pkg+"."+typeName(fn.Recv.List[0].Type))
	default:
		field := fn.Recv.List[0]
		name := "leakgatereceiver"
		if len(field.Names) > 0 {
			name = field.Names[0].Name
		} else {
			e.insert(field.Type.Pos(), name+" ")
		}
		if name != "_" {
			code += fmt.Sprintf(" %s.Ended(%s);", lifetimes, name)
		}
	}
	if code != "" {
		e.insert(fn.Body.Lbrace+1, code)
	}
}

// InstrumentAll calls add with each file of a package that Instrument changes.
func (f *Finder) InstrumentAll(pkg, dir string, names []string, ended string, add func(file string, text []byte) error) error {
	for _, name := range names {
		file := filepath.Join(dir, name)
		text, err := f.Instrument(pkg, file, ended)
		if err != nil {
			return err
		}
		if text == nil {
			continue
		}
		if err := add(file, text); err != nil {
			return err
		}
	}
	return nil
}
