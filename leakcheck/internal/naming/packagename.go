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
		packageNames.Store(symbol.Unescape(path), strings.TrimSuffix(t.String(), "."+t.Name()))
	}
}

// packageName returns a package's name, "" if it is not known.
func packageName(path string) string {
	name, _ := packageNames.Load(path)
	known, _ := name.(string)
	return known
}

// byPackageName returns a name with the package's name in place of the import path, if the former
// is known: "cache.sessions" for "github.com/patrickmn/go-cache.sessions". Dots are part of the
// last element of some paths ("gopkg.in/yaml.v3.sessions"), so that each dot may be the path's end,
// and there may be more names than one.
func byPackageName(name string) (found []string) {
	name = strings.TrimLeft(name, "*")
	for i := pathEnd(name, 0); i > 0; i = pathEnd(name, i+1) {
		found = append(found, packageName(name[:i])+name[i:])
	}
	return found
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

// pathEnd returns where the import path of a package whose name is known may end in a name, at an
// offset or behind it, and 0 if it nowhere does.
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
func ShortName(name string) string { return RewriteWords(name, shortWord) }

func shortWord(word string) string {
	if short := byPackageName(word); len(short) > 0 {
		return short[0]
	}
	if othersEnd.Load() {
		return lastElement(word)
	}
	return symbol.Short(word)
}

// LastElements shortens every import path in a name to its last element: "map[string]*v2.Item".
// Names in records have this form, which does not depend on what is known.
func LastElements(name string) string { return RewriteWords(name, lastElement) }

func lastElement(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }
