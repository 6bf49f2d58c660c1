package gotest

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// LeakcheckPath is the import path of leakcheck; leakgate runs the packages whose tests use it.
const LeakcheckPath = "github.com/leakgate/leakgate/leakcheck"

// A Package is a package with tests.
type Package struct {
	ImportPath string
	Dir        string // its folder, absolute
	Leakcheck  bool   // its test binary links leakcheck
}

// PackageFolders returns the folders of packages by import path.
func PackageFolders(found []Package) map[string]string {
	dirs := make(map[string]string, len(found))
	for _, p := range found {
		dirs[p.ImportPath] = p.Dir
	}
	return dirs
}

// Query is the folder, the environment and the build flags for "go list".
type Query struct {
	Dir        string
	Env        []string
	BuildFlags []string // as for go list: -tags and the like
}

// A LoadError is what the go command objects to in the packages that the patterns name.
type LoadError struct {
	Problems []string // each as the go command words it, "file:line:col: text" where it has a place
}

// Error implements error, one problem a line.
func (e *LoadError) Error() string { return strings.Join(e.Problems, "\n") }

// Packages returns the packages with tests that match patterns, sorted by import path, and how many
// packages matched, with tests or without.
//
// A package uses leakcheck if its test binary links it: through a _test.go file of the package or
// of its external test package, or through a helper package that these import. The cost is that of
// one "go list -deps -test": nothing is parsed beyond imports, and nothing type-checked. The error
// is a *LoadError if the go command ran.
func Packages(cfg Query, patterns []string) (found []Package, matched int, err error) {
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedForTest | packages.NeedModule,
		Dir:        cfg.Dir,
		Env:        append(cfg.Env[:len(cfg.Env):len(cfg.Env)], "GOPACKAGESDRIVER=off"),
		BuildFlags: cfg.BuildFlags,
		Tests:      true,
	}, patterns...)
	if err != nil {
		return nil, 0, listError(err)
	}
	if problems := loadProblems(roots); len(problems) > 0 {
		return nil, 0, &LoadError{problems}
	}
	tested := make(map[string]bool)
	dirs := make(map[string]string)
	for _, p := range roots {
		tested[p.ForTest] = true
		if p.Dir != "" {
			dirs[cmp.Or(p.ForTest, p.PkgPath)] = p.Dir
		}
	}
	links := make(map[*packages.Package]bool)
	for _, p := range roots {
		path, isTest := strings.CutSuffix(p.ID, ".test")
		switch {
		case isTest && p.Name == "main" && tested[path]:
			// the main package that the go command writes for the tests of path
			found = append(found, Package{path, dirs[path], linksLeakcheck(p, links)})
		case p.ForTest == "":
			matched++
		}
	}
	return found, matched, nil
}

// linksLeakcheck reports whether p is or imports leakcheck, at any depth; seen remembers answers.
func linksLeakcheck(p *packages.Package, seen map[*packages.Package]bool) bool {
	if p.PkgPath == LeakcheckPath {
		return true
	}
	if links, ok := seen[p]; ok {
		return links
	}
	seen[p] = false
	for _, dep := range p.Imports {
		if linksLeakcheck(dep, seen) {
			seen[p] = true
			return true
		}
	}
	return false
}

// loadProblems returns the errors of the packages, each once: a package and its test variants
// repeat one another.
func loadProblems(roots []*packages.Package) []string {
	var out []string
	seen := make(map[string]bool)
	packages.Visit(roots, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			text := strings.TrimSpace(e.Msg)
			if e.Pos != "" && e.Pos != "-" {
				text = e.Pos + ": " + text
			}
			if !seen[text] {
				seen[text] = true
				out = append(out, text)
			}
		}
	})
	return out
}

// wrapping matches the text that packages.Load puts before the go command's own words
// (golang.org/x/tools v0.52.0 go/packages/golist.go).
var wrapping = regexp.MustCompile(`(?s)^.*?exit status \d+: (?:stderr: )?`)

// listError extracts the go command's own words from an error of packages.Load.
func listError(err error) error {
	text := strings.TrimSpace(wrapping.ReplaceAllLiteralString(err.Error(), ""))
	if text == "" {
		return fmt.Errorf("go list: %w", err)
	}
	return &LoadError{[]string{text}}
}
