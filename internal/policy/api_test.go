package policy

import (
	"bytes"
	"errors"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAPI compares the exported declarations of the public packages with testdata/api, so that a
// review shows a change of the API. The listing is that of linux/amd64; other systems export the
// same, or .ci/run's cross-builds fail.
func TestAPI(t *testing.T) {
	for _, folder := range append(slices.Clip(linked), "refscan/spike") {
		t.Run(folder, func(t *testing.T) {
			got := exported(t, folder)
			file := filepath.Join("testdata", "api", folder+".txt")
			if *update {
				replaceFile(t, file, got)
				return
			}
			const how = "go test ./internal/policy -run TestAPI -update"
			want, err := os.ReadFile(file)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				t.Fatalf("internal/policy/%s is missing; make it with: %s", filepath.ToSlash(file), how)
			case err != nil:
				t.Fatal(err)
			case got != string(want):
				t.Errorf("the exported API differs from internal/policy/%s:\n%sif that is meant, run: %s",
					filepath.ToSlash(file), lineDiff(string(want), got), how)
			}
		})
	}
}

// documented reads a package of this repository, as it is on linux/amd64.
func documented(t *testing.T, fset *token.FileSet, folder string) *doc.Package {
	t.Helper()
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH = "linux", "amd64"
	pkg, err := ctx.ImportDir(filepath.Join(root, filepath.FromSlash(folder)), 0)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range append(pkg.GoFiles, pkg.CgoFiles...) {
		file, err := parser.ParseFile(fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	d, err := doc.NewFromFiles(fset, files, modulePath+"/"+folder)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// exported returns the exported declarations of a package: constants, variables, functions, then
// types with their methods, sorted by name, without comments, bodies and what is not exported. An
// alias of a type of an internal package is followed by that type.
func exported(t *testing.T, folder string) string {
	t.Helper()
	var out bytes.Buffer
	fset := token.NewFileSet()
	d := documented(t, fset, folder)
	write := func(decl ast.Decl) {
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = nil
		}
		config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
		if err := config.Fprint(&out, fset, decl); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	values := func(values []*doc.Value) {
		for _, v := range values {
			write(v.Decl)
		}
	}
	funcs := func(funcs []*doc.Func) {
		for _, f := range funcs {
			write(f.Decl)
		}
	}
	types := func(typ *doc.Type) {
		write(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	values(d.Consts)
	values(d.Vars)
	funcs(d.Funcs)
	for _, typ := range d.Types {
		types(typ)
		if folder, name := aliased(d, typ); name != "" {
			of := documented(t, fset, folder)
			i := slices.IndexFunc(of.Types, func(typ *doc.Type) bool { return typ.Name == name })
			types(of.Types[i])
		}
	}
	return "package " + d.Name + "\n\n" + out.String()
}

// aliased returns the folder and the name of the type of this repository that a type is an alias
// of; "" and "" if it is none.
func aliased(d *doc.Package, typ *doc.Type) (folder, name string) {
	spec := typ.Decl.Specs[0].(*ast.TypeSpec)
	of, ok := spec.Type.(*ast.SelectorExpr)
	if !ok || !spec.Assign.IsValid() {
		return "", ""
	}
	i := slices.IndexFunc(d.Imports, func(imported string) bool {
		return path.Base(imported) == of.X.(*ast.Ident).Name && strings.HasPrefix(imported, modulePath+"/")
	})
	if i < 0 {
		return "", ""
	}
	return strings.TrimPrefix(d.Imports[i], modulePath+"/"), of.Sel.Name
}

// replaceFile writes to a temporary name, then renames.
func replaceFile(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".new", []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// lineDiff lists the lines that only one of the texts has.
func lineDiff(want, got string) string {
	var b strings.Builder
	for _, side := range []struct{ sign, text, other string }{{"-", want, got}, {"+", got, want}} {
		count := make(map[string]int)
		for line := range strings.Lines(side.other) {
			count[line]++
		}
		for line := range strings.Lines(side.text) {
			if count[line]--; count[line] < 0 {
				b.WriteString(side.sign + strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	}
	if b.Len() == 0 {
		return "(the order of lines)\n"
	}
	return b.String()
}
