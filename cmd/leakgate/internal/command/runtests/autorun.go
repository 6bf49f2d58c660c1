package runtests

import (
	"debug/buildinfo"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/drive"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/finding"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/workspace"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/symbol"
)

// An autoRun is a run of leakgate run -auto.
type autoRun struct {
	*session
	started   time.Time
	workspace *workspace.Workspace
	build     []string // flags
	binary    []string
	env       []string // of tests

	mu      sync.Mutex // guards the fields below
	emit    func(ev *gotest.Event) error
	failed  bool
	err     error
	sorter  *finding.Sorter
	ignored *finding.Suppressions
	sources *source.Finder

	listing   *workspace.Listing // what all tests are built from
	uncounted []string           // packages of which it is not counted what they hand out and end, and why
	moved     []string           // files that tests left when they were ended
	left      []string           // functions that were not repeated, and why
	covered   int                // number of functions that were repeated
	uncovered []drive.Tried
	nothing   []string // packages of which nothing was repeated, and why
	packages  int      // number of packages with functions to repeat
	undecided []string // those on which there is no verdict
}

// functions returns the functions of a package that -run selects.
func (a *autoRun) functions(p *source.Package) []string { return a.selected(p.Names()) }

// selected returns the names that -run matches.
func (a *autoRun) selected(names []string) []string {
	if a.options.run == "" {
		return names
	}
	// As in go test, the part after a slash selects subtests when their test runs.
	first, _, _ := strings.Cut(a.options.run, "/")
	pattern, err := regexp.Compile(first)
	if err != nil {
		return nil // a pattern with a slash in parentheses: nothing is repeated, which is reported
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !pattern.MatchString(name) })
}

func (a *autoRun) stopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

func (a *autoRun) stop(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
}

// modules describes the modules of a test binary: those that the user's packages come from, and the
// others.
func (a *autoRun) modules(file string, p *source.Package) (*finding.Modules, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := &finding.Modules{
		Own: append([]string{info.Main.Path, p.Module.Path}, slices.Collect(maps.Keys(a.workspace.Modules))...), Deps: make(map[string]string), Dirs: a.workspace.Modules,
		Std: symbol.ModulesOf(info), Ignored: a.ignored.Match, Handings: a.sources.Handings, Ends: a.sources.Ends, Sweeps: a.sources.Sweeps, CallAt: source.CallAt,
		OnlyTests: func(function string) string {
			if pkg := symbol.Package(function); a.listing.OnlyTest[pkg] {
				return pkg
			}
			return a.sources.OnlyTests(function)
		},
		TestsAssign: func(variable string) bool { return a.sources.TestsAssign(variable, p.ImportPath) },
	}
	for path, version := range a.listing.Versions {
		if !slices.Contains(m.Own, path) {
			m.Deps[path] = version
		}
	}
	for _, d := range info.Deps {
		if !slices.Contains(m.Own, d.Path) {
			m.Deps[d.Path] = d.Version
			if d.Replace != nil {
				m.Deps[d.Path] = strings.TrimSpace("=> " + d.Replace.Path + " " + strings.TrimPrefix(d.Replace.Version, "(devel)"))
			}
		}
	}
	return m, nil
}

// send passes an event on. After a failure it sends nothing more.
func (a *autoRun) send(ev gotest.Event) {
	if a.err == nil {
		a.err = a.emit(&ev)
	}
}
