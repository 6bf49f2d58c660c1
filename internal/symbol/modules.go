// Package symbol interprets the names of packages, types and functions in a program, of Go
// versions, and of a report's nodes.
package symbol

import (
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// Modules are the modules that a program was built of. Packages that are in none of them are the
// standard library's: import paths alone do not tell, since a module may be called "shop".
//
// A nil Modules has no modules. It takes a path with a dot in its first element for a module's, as
// the go command does for modules that can be downloaded.
type Modules struct {
	paths     []string // of the main module and of those that it depends on
	underTest string   // import path of the package under test, or of the command
}

// ModulesOf reads the modules of a program from its build information. It returns nil if that names
// no module, as in programs that a build system other than the go command has made.
func ModulesOf(info *debug.BuildInfo) *Modules {
	m := &Modules{underTest: strings.TrimSuffix(info.Path, ".test")}
	for _, module := range append([]*debug.Module{&info.Main}, info.Deps...) {
		// A module that is replaced keeps its path in the names of its packages.
		if module.Path != "" {
			m.paths = append(m.paths, module.Path)
		}
	}
	if len(m.paths) == 0 && m.underTest == "" {
		return nil
	}
	return m
}

// Main returns the path of the main module, "" if it is not known.
func (m *Modules) Main() string {
	if m == nil || len(m.paths) == 0 {
		return ""
	}
	return m.paths[0]
}

// NamedModules returns Modules with these paths, the result of Ambiguous for a program, where the
// program itself cannot be asked. Package knows them, too.
func NamedModules(paths []string) *Modules {
	Learn(paths...)
	return &Modules{paths: paths}
}

// Ambiguous returns the paths that names do not tell without the program: those of modules, and of
// a package under test, that look like the standard library's, without a dot in the first element;
// and packages whose last element has a dot, as far as they are known.
func (m *Modules) Ambiguous() []string {
	var found Modules
	if m != nil {
		for _, path := range append(slices.Clone(m.paths), m.underTest) {
			if path != "" && found.IsStandard(path) {
				found.paths = append(found.paths, path)
			}
		}
	}
	return append(found.paths, Dotted()...)
}

// OwnModules returns the modules of this program.
var OwnModules = sync.OnceValue(func() *Modules {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return ModulesOf(info)
})

// notStandard are the paths of packages that are in no module: of files that are named on the
// command line, and of a command (go1.26 cmd/go/internal/load/pkg.go, cmd/go/internal/work/gc.go).
var notStandard = []string{"main", "command-line-arguments"}

// IsStandard reports whether a package belongs to the standard library. A test package
// ("example.com/app_test") belongs to the package that it tests. "" counts as the standard library:
// memory without a package is the runtime's or the compiler's.
func (m *Modules) IsStandard(pkg string) bool {
	pkg = strings.TrimSuffix(pkg, "_test")
	for _, path := range notStandard {
		if pkg == path {
			return false
		}
	}
	if m != nil {
		if pkg == m.underTest && pkg != "" {
			return false
		}
		for _, path := range m.paths {
			if rest, ok := strings.CutPrefix(pkg, path); ok && (rest == "" || rest[0] == '/') {
				return false
			}
		}
	}
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}
