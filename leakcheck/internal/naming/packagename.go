package naming

import (
	"strings"
	"sync/atomic"
)

// packageNames has the names of this program's packages whose import path ends otherwise, by that
// path: "cache" for "github.com/patrickmn/go-cache". Debug information knows them, so they are not
// known before the first snapshot.
var packageNames atomic.Pointer[map[string]string]

// LearnPackageNames makes patterns accept the names of this program's packages whose import path
// ends otherwise. All snapshots of a process give the same names, or none without debug
// information.
func LearnPackageNames(names map[string]string) {
	if len(names) > 0 {
		packageNames.Store(&names)
	}
}

// byPackageName yields a name with its package's name in place of the import path, where the path
// ends otherwise: "cache.sessions" for "github.com/patrickmn/go-cache.sessions". Dots are part of
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
