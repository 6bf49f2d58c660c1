package leakcheck

import (
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// A scope says which roots count.
type scope struct {
	packages  []packages // empty: every root
	skipTests bool       // leave out the variables of running test functions
}

// scopeOf returns the scope of a request. Bounds name what they mean, so without Scope they take every
// root; a golden file takes the roots of the module under test. A test's own locals are not the code
// under test, and live exactly as long as the test uses them, so a golden file leaves them out. Package
// variables of _test.go files stay in: they outlive the test, and are often what really keeps an object.
func scopeOf(r *request, env *environment) scope {
	s := scope{packages: r.scope, skipTests: !r.bounded()}
	if len(s.packages) == 0 && !r.bounded() {
		s.packages = env.moduleUnderTest()
	}
	return s
}

func (s *scope) includes(info *refscan.RootInfo) bool {
	if s.skipTests && (isTestFrame(info) || isRuntimeFrame(info)) {
		return false
	}
	if len(s.packages) == 0 || s.includesPackage(info.Package) {
		return true
	}
	if info.Kind != refscan.RootFrame {
		return false
	}
	for _, function := range []string{info.Func, info.Goroutine, info.CreatedBy} {
		if function != "" && s.includesPackage(packageOf(function)) {
			return true
		}
	}
	return false
}

func (s *scope) includesPackage(pkg string) bool {
	for _, ps := range s.packages {
		if ps.include(pkg) {
			return true
		}
	}
	return false
}

// packages is what one pattern of Scope was compiled to.
type packages []pattern

// include takes an external test package ("example.com/app_test") for the package that it tests.
func (ps packages) include(pkg string) bool {
	pkg = strings.TrimSuffix(unescapePath(pkg), "_test")
	for _, p := range ps {
		if p.matchWhole(pkg) {
			return true
		}
	}
	return false
}

// compileScope compiles a pattern of packages. As for the go command, "x/..." includes x itself.
func compileScope(text string) (packages, error) {
	p, err := compilePattern(text)
	if err != nil {
		return nil, err
	}
	if parent, ok := strings.CutSuffix(text, "/..."); ok && parent != "" {
		top, err := compilePattern(parent)
		return packages{p, top}, err
	}
	return packages{p}, nil
}

// isTestFrame reports whether the root is a variable of a test function that is running.
func isTestFrame(info *refscan.RootInfo) bool {
	return info.Kind == refscan.RootFrame && (info.Test || info.Caller)
}

// isRuntimeFrame reports whether the root is a variable of the scheduler's or of the library's inner
// workings: what they hold is another way to what the goroutine waits for, and differs between Go
// releases.
func isRuntimeFrame(info *refscan.RootInfo) bool {
	if info.Kind != refscan.RootFrame {
		return false
	}
	pkg := info.Package
	return pkg == "runtime" || strings.HasPrefix(pkg, "runtime/") || strings.HasPrefix(pkg, "internal/")
}

// packageOf returns the import path in the name of a variable or function: what precedes the first dot
// after the last slash of the path.
func packageOf(name string) string {
	path := name
	if i := strings.IndexAny(path, "[({ "); i >= 0 {
		path = path[:i]
	}
	slash := strings.LastIndexByte(path, '/') + 1
	if dot := strings.IndexByte(path[slash:], '.'); dot >= 0 {
		return unescapePath(path[:slash+dot])
	}
	return unescapePath(path)
}

// below returns what follows a module's path in a package's, with its slash.
func below(module, pkg string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(pkg, module)
	return rest, ok && module != "" && (rest == "" || rest[0] == '/')
}
