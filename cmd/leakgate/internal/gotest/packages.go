package gotest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
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
	Broken     string // what the go command objects to in it or in what it imports; "": nothing
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
// packages matched, with tests or without. Packages that do not load are among them, unless none
// does, or a pattern names no folder.
//
// A package uses leakcheck if its test binary links it: through a _test.go file of the package or
// of its external test package, or through a helper package that these import. The cost is that of
// one "go list -deps -test": nothing is parsed beyond imports, and nothing type-checked. The error
// is a *LoadError if the go command ran.
func Packages(cfg Query, patterns []string) (found []Package, matched int, err error) {
	env, buildFlags := ForLoad(cfg.Dir, cfg.Env, cfg.BuildFlags)
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedForTest | packages.NeedModule,
		Dir:        cfg.Dir,
		Env:        append(env[:len(env):len(env)], "GOPACKAGESDRIVER=off"),
		BuildFlags: buildFlags,
		Tests:      true,
	}, patterns...)
	if err != nil {
		return nil, 0, listError(err)
	}
	tested := make(map[string]bool)
	dirs := make(map[string]string)
	for _, p := range roots {
		tested[p.ForTest] = true
		if p.Dir != "" {
			dirs[cmp.Or(p.ForTest, p.PkgPath)] = p.Dir
		}
	}
	// mainOf returns the package whose tests the go command writes a main package for.
	mainOf := func(p *packages.Package) (path string, ok bool) {
		path, ok = strings.CutSuffix(p.ID, ".test")
		return path, ok && p.Name == "main" && tested[path]
	}
	problems := loadProblems(roots)
	broken := make(map[string][]string) // problems by import path
	if len(problems) > 0 {
		for _, p := range roots {
			path, ok := mainOf(p)
			if !ok {
				path = cmp.Or(p.ForTest, p.PkgPath)
			}
			broken[path] = append(broken[path], loadProblems([]*packages.Package{p})...)
		}
	}
	links := make(map[*packages.Package]bool)
	loads := false
	for _, p := range roots {
		path, isTest := mainOf(p)
		switch {
		case isTest && len(broken[path]) == 0:
			loads = true
			found = append(found, Package{ImportPath: path, Dir: dirs[path], Leakcheck: linksLeakcheck(p, links)})
		case isTest || p.ForTest != "":
		default:
			matched++
			if of := broken[p.PkgPath]; len(of) > 0 {
				found = append(found, Package{ImportPath: p.PkgPath, Dir: dirs[p.PkgPath], Broken: strings.Join(distinct(of), "\n")})
			}
		}
	}
	if len(problems) > 0 && (!loads || slices.ContainsFunc(found, func(p Package) bool { return p.Dir == "" })) {
		return nil, 0, &LoadError{problems}
	}
	slices.SortFunc(found, func(a, b Package) int { return strings.Compare(a.ImportPath, b.ImportPath) })
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

// loadProblems returns the errors of packages and of what they import, each once: a package and its
// test variants repeat one another.
func loadProblems(roots []*packages.Package) []string {
	var out []string
	packages.Visit(roots, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			text := strings.TrimSpace(e.Msg)
			if e.Pos != "" && e.Pos != "-" {
				text = e.Pos + ": " + text
			}
			if text != "" {
				out = append(out, text)
			}
		}
	})
	return distinct(out)
}

// distinct returns each line once, in their order.
func distinct(lines []string) (once []string) {
	for _, line := range lines {
		if !slices.Contains(once, line) {
			once = append(once, line)
		}
	}
	return once
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
