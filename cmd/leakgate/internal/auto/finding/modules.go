package finding

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

// isOthers reports whether a package is neither the standard library's nor the tool's.
func (m *Modules) isOthers(pkg string) bool {
	return pkg != "" && !m.Std.IsStandard(pkg) && !symbol.IsTool(pkg)
}

func (m *Modules) isOwn(pkg string) bool {
	own, dep := longest(m.Own, pkg), longest(m.paths(), pkg)
	return own != "" && len(own) >= len(dep)
}

// isDependency reports whether a package is of another module.
func (m *Modules) isDependency(pkg string) bool {
	return m.isOthers(pkg) && !m.isOwn(pkg) && !isTestPackage(pkg)
}

func (m *Modules) paths() []string {
	var paths []string
	for path := range m.Deps {
		paths = append(paths, path)
	}
	return paths
}

// dependency returns the module of a package, with the version if there is one.
func (m *Modules) dependency(pkg string) string {
	path := longest(m.paths(), pkg)
	if path == "" {
		return pkg
	}
	if v := m.Deps[path]; v != "" && v != "(devel)" {
		return path + " " + v
	}
	return path
}

// longest returns the longest of some module paths that a package can be in; "" if it is in none.
func longest(paths []string, pkg string) string {
	best := ""
	for _, path := range paths {
		if (pkg == path || strings.HasPrefix(pkg, path+"/")) && len(path) > len(best) {
			best = path
		}
	}
	return best
}

// written returns calls by the names that the source has: the compiler names a function literal of
// a function that it inlines by the function around, "app_test.TestNew.New.func1" for
// app.New.func1.
func (m *Modules) written(stack []verdict.Call) []verdict.Call {
	stack = slices.Clone(stack)
	for i, c := range stack {
		pkg, name := symbol.Split(c.Function)
		if !isTestPackage(pkg) || strings.Contains(c.At, "_test.go:") {
			continue
		}
		for path, dir := range m.Dirs {
			below, ok := strings.CutPrefix(filepath.ToSlash(c.At), filepath.ToSlash(dir)+"/")
			if _, name, inlined := strings.Cut(name, "."); ok && inlined && !strings.HasPrefix(below, "vendor/") {
				stack[i].Function = strings.TrimSuffix(path+"/"+below[:strings.LastIndexByte(below, '/')+1], "/") + "." + name
			}
		}
	}
	return stack
}
