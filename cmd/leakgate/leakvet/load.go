package leakvet

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldenset"
)

// A Finding is a mistake in a test.
type Finding struct {
	token.Position
	Message string
	edits   []edit
}

// An edit is one of a fix.
type edit struct {
	file     string
	from, to int // offsets
	text     []byte
}

// Check looks for mistakes in packages and their tests, sorted by place. It type-checks only those
// of them that import leakcheck or have golden files, and nothing that they import, which takes "go
// vet" with a tool of its own seconds. The error says what the go command or the compiler objects
// to.
func Check(cfg packages.Config, patterns []string) ([]Finding, error) {
	cfg.Tests = true
	cfg.Mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedForTest
	all, err := load(&cfg, patterns)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]bool)
	for _, p := range all {
		_, err := os.Stat(filepath.Join(p.Dir, goldenset.Below))
		if p.Imports[leakcheck] != nil || p.Dir != "" && err == nil {
			wanted[cmp.Or(p.ForTest, p.PkgPath)] = true
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	if !slices.ContainsFunc(patterns, func(p string) bool { return strings.HasSuffix(p, ".go") }) {
		patterns = slices.Sorted(maps.Keys(wanted))
	}
	cfg.Mode = packages.LoadSyntax
	roots, err := load(&cfg, patterns)
	if err != nil {
		return nil, err
	}
	l := &loaded{facts: factsOf(all)}
	for _, p := range roots {
		if strings.HasSuffix(p.PkgPath, ".test") {
			continue
		}
		if err := l.check(p); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Message, b.Message))
	})
	// A file may be in several variants of a package.
	return slices.CompactFunc(l.found, func(a, b Finding) bool { return a.Position == b.Position && a.Message == b.Message }), nil
}

// loaded are packages while they are checked.
type loaded struct {
	facts []analysis.PackageFact
	found []Finding
}

func (l *loaded) check(p *packages.Package) error {
	_, err := Analyzer.Run(&analysis.Pass{
		Analyzer: Analyzer, Fset: p.Fset, Files: p.Syntax, Pkg: p.Types, TypesInfo: p.TypesInfo, TypesSizes: p.TypesSizes,
		ReadFile:          os.ReadFile,
		ExportPackageFact: func(analysis.Fact) {},
		AllPackageFacts:   func() []analysis.PackageFact { return l.facts },
		Report: func(d analysis.Diagnostic) {
			f := Finding{Position: p.Fset.Position(d.Pos), Message: d.Message}
			for _, fix := range d.SuggestedFixes[:min(1, len(d.SuggestedFixes))] {
				for _, e := range fix.TextEdits {
					from := p.Fset.Position(e.Pos)
					f.edits = append(f.edits, edit{from.Filename, from.Offset, from.Offset + int(e.End-e.Pos), e.NewText})
				}
			}
			l.found = append(l.found, f)
		},
	})
	if err != nil {
		return fmt.Errorf("vetting %s: %w", p.PkgPath, err)
	}
	return nil
}

// load loads packages, or returns their errors.
func load(cfg *packages.Config, patterns []string) ([]*packages.Package, error) {
	roots, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, p := range roots {
		for _, e := range p.Errors {
			problems = append(problems, e)
		}
	}
	return roots, errors.Join(problems...)
}

// factsOf returns the facts of packages and of all that they import.
func factsOf(roots []*packages.Package) []analysis.PackageFact {
	files := make(map[string][]string) // of all variants of a package
	var facts []analysis.PackageFact
	packages.Visit(roots, nil, func(p *packages.Package) {
		if strings.HasSuffix(p.PkgPath, ".test") {
			return
		}
		if files[p.PkgPath] == nil {
			s := &symbols{Package: p.Name}
			s.read = sync.OnceFunc(func() { s.parse(files[p.PkgPath]) })
			facts = append(facts, analysis.PackageFact{Package: types.NewPackage(p.PkgPath, p.Name), Fact: s})
		}
		files[p.PkgPath] = append(files[p.PkgPath], p.GoFiles...)
	})
	return facts
}

// parse reads the names that files declare.
func (s *symbols) parse(files []string) {
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					s.Values = append(s.Values, d.Name.Name)
				}
			case *ast.GenDecl:
				s.add(d)
			}
		}
	}
}

// add adds the types and variables that a declaration declares.
func (s *symbols) add(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.Types = append(s.Types, spec.Name.Name)
		case *ast.ValueSpec:
			for _, id := range spec.Names {
				if d.Tok == token.VAR {
					s.Values = append(s.Values, id.Name)
				}
			}
		}
	}
}

// Fix corrects what is safe to correct.
func Fix(found []Finding) error {
	var edits []edit
	for _, f := range found {
		edits = append(edits, f.edits...)
	}
	// The last of a file comes first, so that offsets stay right.
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.file, b.file), b.from-a.from) })
	for i, e := range edits {
		if i > 0 && edits[i-1].file == e.file && e.to > edits[i-1].from {
			continue // it overlaps
		}
		text, err := os.ReadFile(e.file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(e.file, slices.Concat(text[:e.from], e.text, text[e.to:]), 0o666); err != nil {
			return err
		}
	}
	return nil
}
