package naming

import (
	"strings"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/symbol"
)

// packageNames maps import paths that do not end in the package's name to that name:
// "github.com/patrickmn/go-cache" to "cache". The names come from debug information, so they are
// unknown before the first snapshot.
var packageNames atomic.Pointer[map[string]string]

// LearnPackageNames makes patterns accept the names of this program's packages whose import paths
// do not end in the package's name. All snapshots of a process give the same names, or none without
// debug information.
func LearnPackageNames(names map[string]string) {
	if len(names) > 0 {
		packageNames.Store(&names)
	}
}

// packageName returns a package's name if its import path does not end in it, else "".
func packageName(path string) string {
	if names := packageNames.Load(); names != nil {
		return (*names)[path]
	}
	return ""
}

// byPackageName yields a name with the package's name in place of the import path, if the path does
// not end in it: "cache.sessions" for "github.com/patrickmn/go-cache.sessions".
func byPackageName(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		name := strings.TrimLeft(name, "*")
		for i := pathEnd(name, 0); i > 0; i = pathEnd(name, i+1) {
			if !yield(packageName(name[:i]) + name[i:]) {
				return
			}
		}
	}
}

// PackagePath returns the import path in the name of a variable, function or type. The names in
// debug information have no escapes of dots, from which symbol.Package tells where the path ends.
func PackagePath(name string) string {
	name = strings.TrimLeft(name, "*")
	if clean := symbol.Unescape(name); pathEnd(clean, 0) > 0 {
		return clean[:pathEnd(clean, 0)]
	}
	return symbol.Package(name)
}

// pathEnd returns where the import path in a name may end, at an offset or behind it, if the path
// does not end in the package's name, and 0 if it nowhere does. Dots are part of the last element
// of some paths ("gopkg.in/yaml.v3.sessions"), so that each dot may be the path's end.
func pathEnd(name string, from int) int {
	if i := strings.IndexAny(name, "[({ "); i >= 0 {
		name = name[:i]
	}
	for i := max(from, strings.LastIndexByte(name, '/')+1); i < len(name); i++ {
		if name[i] == '.' && packageName(name[:i]) != "" {
			return i
		}
	}
	return 0
}

// WithPackageNames shortens every import path in a name to its package's name:
// "map[string]*cache.Item".
func WithPackageNames(name string) string {
	return RewriteWords(name, func(word string) string {
		for short := range byPackageName(word) {
			return short
		}
		return word[strings.LastIndexByte(word, '/')+1:]
	})
}
