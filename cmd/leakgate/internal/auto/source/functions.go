package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Package is a package with test files, as the go command lists it.
type Package struct {
	ImportPath string
	Dir        string
	Module     *Module // nil outside any module
	// Names of the files in Dir that the build constraints select: those of the package, and those
	// of the external test package, whose name ends in _test.
	TestGoFiles, XTestGoFiles []string

	In, Beside Functions `json:"-"` // declared in TestGoFiles and in XTestGoFiles
}

// A Module is one of the user's modules.
type Module struct {
	Path, Dir, GoMod, GoVersion string
}

// Functions are the functions that one package of tests declares.
type Functions struct {
	Name            string // of the package
	Tests, Examples []string
	Fuzz            []string // fuzz tests, called with their seeds
	Benchmarks      []string
}

// Names returns all functions of p: tests, then examples, then fuzz tests, each in the order of the
// files.
func (p *Package) Names() []string {
	var names []string
	for _, f := range []Functions{p.In, p.Beside} {
		names = append(names, f.Tests...)
	}
	for _, f := range []Functions{p.In, p.Beside} {
		names = append(names, f.Examples...)
	}
	for _, f := range []Functions{p.In, p.Beside} {
		names = append(names, f.Fuzz...)
	}
	return names
}

// Config is the folder, the environment and the build flags for "go list".
type Config struct {
	Dir        string
	Env        []string
	BuildFlags []string // as for go list
}

// Packages lists the packages with test files that match patterns, in the go command's order, which
// is that of import paths. It runs one "go list" and parses the test files.
func Packages(cfg Config, patterns []string) ([]*Package, error) {
	args := append([]string{"list", "-json=ImportPath,Dir,Module,TestGoFiles,XTestGoFiles"}, cfg.BuildFlags...)
	cmd := exec.Command("go", append(append(args, "--"), patterns...)...)
	cmd.Dir, cmd.Env = cfg.Dir, cfg.Env
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var found []*Package
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		p := new(Package)
		if err := dec.Decode(p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		if err := p.read(); err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

// Benchmarks returns the benchmarks of p.
func (p *Package) Benchmarks() []string {
	return slices.Concat(p.In.Benchmarks, p.Beside.Benchmarks)
}

// read finds the functions that the test files declare.
func (p *Package) read() (err error) {
	if p.In, err = functions(p.Dir, p.TestGoFiles); err != nil {
		return err
	}
	p.Beside, err = functions(p.Dir, p.XTestGoFiles)
	return err
}

// functions returns the functions that files of one package declare.
func functions(dir string, names []string) (Functions, error) {
	var found Functions
	var files []*ast.File
	set := token.NewFileSet()
	for _, name := range names {
		file, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return found, err
		}
		found.Name = file.Name.Name
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case isTest(f, "Test", "T"):
				found.Tests = append(found.Tests, f.Name.Name)
			case isTest(f, "Fuzz", "F"):
				found.Fuzz = append(found.Fuzz, f.Name.Name)
			case isTest(f, "Benchmark", "B"):
				found.Benchmarks = append(found.Benchmarks, f.Name.Name)
			}
		}
		files = append(files, file)
	}
	for _, e := range doc.Examples(files...) {
		if e.Output != "" || e.EmptyOutput { // examples without output are compiled and not run
			found.Examples = append(found.Examples, "Example"+e.Name)
		}
	}
	return found, nil
}

// isTest reports whether f is a test as the go command recognizes them (go1.26
// cmd/go/internal/load/test.go): by a prefix of its name, and by a parameter of a type of package
// testing.
func isTest(f *ast.FuncDecl, prefix, typ string) bool {
	rest, ok := strings.CutPrefix(f.Name.Name, prefix)
	if !ok || f.Recv != nil || f.Type.TypeParams != nil || f.Type.Results != nil || f.Type.Params.NumFields() != 1 {
		return false
	}
	first, _ := utf8.DecodeRuneInString(rest)
	if rest != "" && unicode.IsLower(first) {
		return false
	}
	star, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	// "*testing.T", by whatever name the package is imported; TestMain has a *testing.M.
	switch t := star.X.(type) {
	case *ast.Ident:
		return t.Name == typ
	case *ast.SelectorExpr:
		return t.Sel.Name == typ
	}
	return false
}
