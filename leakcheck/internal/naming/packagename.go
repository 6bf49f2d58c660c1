package naming

import (
	"maps"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/symbol"
)

// knownNames has the names of packages that their import paths do not tell.
type knownNames struct {
	names map[string]string // "github.com/patrickmn/go-cache" to "cache"
	all   bool              // the name of every other package is the last element of its path
}

// packageNames is nil as long as no such name is known.
var packageNames atomic.Pointer[knownNames]

// LearnPackageNames makes messages have, and patterns accept, the names of this program's packages
// whose import paths do not end in the package's name. All snapshots of a process give the same
// names, or none without debug information.
func LearnPackageNames(names map[string]string) {
	if len(names) > 0 {
		packageNames.Store(&knownNames{names, true})
	}
}

// LearnType learns the names of the packages of a type and its elements from the type, which knows
// them without debug information. It does not see type arguments.
func LearnType(t reflect.Type) {
	if t.Name() == "" {
		switch t.Kind() {
		case reflect.Map:
			LearnType(t.Key())
			LearnType(t.Elem())
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
			LearnType(t.Elem())
		}
		return
	}
	path := symbol.Unescape(t.PkgPath())
	name := strings.TrimSuffix(t.String(), "."+t.Name())
	for learned := path == "" || ShortName(path+".") == name+"."; !learned; {
		names := map[string]string{path: name}
		old := packageNames.Load()
		if old != nil {
			maps.Copy(names, old.names)
		}
		learned = old != nil && old.all || packageNames.CompareAndSwap(old, &knownNames{names: names})
	}
}

// packageName returns a package's name if its import path does not end in it, else "".
func packageName(path string) string {
	if known := packageNames.Load(); known != nil {
		return known.names[path]
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

// ShortName shortens every import path in a name to its package's name:
// "map[string]*cache.Item". If that is not known, it takes the path's last element that is not a
// version.
func ShortName(name string) string {
	return RewriteWords(name, func(word string) string {
		for short := range byPackageName(word) {
			return short
		}
		if known := packageNames.Load(); known != nil && known.all {
			return lastElement(word)
		}
		return symbol.Short(word)
	})
}

// LastElements shortens every import path in a name to its last element: "map[string]*v2.Item".
// Names in records have this form, which does not depend on what is known.
func LastElements(name string) string {
	if !strings.Contains(name, "/") {
		return name
	}
	return RewriteWords(name, lastElement)
}

func lastElement(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }
