package naming

import (
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/leakgate/leakgate/internal/symbol"
)

// packageNames maps import paths to the names of packages: "github.com/patrickmn/go-cache" to
// "cache".
var packageNames sync.Map

// othersEnd is set once packageNames has all packages whose import paths do not end in the
// package's name.
var othersEnd atomic.Bool

// LearnPackageNames makes messages have, and patterns accept, the names of this program's packages
// whose import paths do not end in the package's name. All snapshots of a process give the same
// names.
func LearnPackageNames(names map[string]string) {
	for path, name := range names {
		packageNames.Store(path, name)
		symbol.Learn(path)
		othersEnd.Store(true)
	}
}

// LearnType learns the names of a type's packages from the type, which knows them without debug
// information.
func LearnType(t reflect.Type) {
	for t.Name() == "" {
		switch t.Kind() {
		case reflect.Func, reflect.Interface, reflect.Struct:
			return
		case reflect.Map:
			LearnType(t.Key())
		}
		t = t.Elem()
	}
	if path := t.PkgPath(); path != "" {
		path = symbol.Unescape(path)
		packageNames.Store(path, strings.TrimSuffix(t.String(), "."+t.Name()))
		symbol.Learn(path)
	}
}

// packageName returns a package's name, "" if it is not known.
func packageName(path string) string {
	name, _ := packageNames.Load(path)
	known, _ := name.(string)
	return known
}

// byPackageName returns a name with the package's name in place of the import path, if the former
// is known: "cache.sessions" for "github.com/patrickmn/go-cache.sessions".
func byPackageName(name string) (short string, ok bool) {
	name = strings.TrimLeft(name, "*")
	path := symbol.Package(name)
	known := packageName(path)
	return known + strings.TrimPrefix(name, path), known != ""
}

// ShortName shortens every import path in a name to its package's name:
// "map[string]*cache.Item". If that is not known, it takes the path's last element that is not a
// version.
func ShortName(name string) string { return RewriteWords(name, shortWord) }

func shortWord(word string) string {
	if short, ok := byPackageName(word); ok {
		return short
	}
	if othersEnd.Load() {
		return symbol.LastElement(word)
	}
	return symbol.Short(word)
}

// LastElements shortens every import path in a name to its last element: "map[string]*v2.Item".
// Names in records have this form, which does not depend on what is known.
func LastElements(name string) string { return RewriteWords(name, symbol.LastElement) }
