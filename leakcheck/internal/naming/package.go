// Package naming knows the names of packages, variables, functions and types, and patterns for
// them.
package naming

import (
	"runtime/debug"
	"strings"
	"sync"

	"github.com/leakgate/leakgate/internal/symbol"
)

// BuildPaths returns the import path of the package under test, and that of its module; both are ""
// if the binary has no build information.
var BuildPaths = sync.OnceValues(func() (pkg, module string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	return strings.TrimSuffix(info.Path, ".test"), info.Main.Path
})

// Packages is a compiled pattern of Scope.
type Packages []Pattern

// Include reports whether a pattern matches a package, by its import path or by its name. It takes
// an external test package ("example.com/app_test") for the package that it tests.
func (ps Packages) Include(pkg string) bool {
	pkg = strings.TrimSuffix(symbol.Unescape(pkg), "_test")
	name := packageName(pkg)
	for _, p := range ps {
		if p.MatchWhole(pkg) || name != "" && !p.Anchored && p.MatchWhole(name) {
			return true
		}
	}
	return false
}

// CompileScope compiles a pattern of packages. As for the go command, "x/..." includes x itself.
func CompileScope(text string) (Packages, error) {
	p, err := compilePattern(text)
	if err != nil {
		return nil, err
	}
	if parent, ok := strings.CutSuffix(text, "/..."); ok && parent != "" {
		top, err := compilePattern(parent)
		return Packages{p, top}, err
	}
	return Packages{p}, nil
}
