package naming

import (
	"strings"
	"sync/atomic"
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

// byPackageName yields a name with the package's name in place of the import path, if the path does
// not end in it: "cache.sessions" for "github.com/patrickmn/go-cache.sessions". Dots are part of
// the last element of some paths ("gopkg.in/yaml.v3.sessions"), so that each dot may be the path's
// end.
func byPackageName(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		names := packageNames.Load()
		if names == nil {
			return
		}
		name = strings.TrimLeft(name, "*")
		path := name
		if i := strings.IndexAny(path, "[({ "); i >= 0 {
			path = path[:i]
		}
		for i := strings.LastIndexByte(path, '/') + 1; i < len(path); i++ {
			if path[i] != '.' {
				continue
			}
			if pkg, ok := (*names)[path[:i]]; ok && !yield(pkg+name[i:]) {
				return
			}
		}
	}
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
