package symbol

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// Package returns the import path in the name of a variable, function or type, such as
// "example.com/app" for "example.com/app.(*Cache[int]).Get", and for a pointer that of its type. It
// returns "" for names that belong to no package, such as "int" and "go:itab.T".
//
// The linker escapes dots in the last element of an import path, so that the first dot there ends
// it. Unescape removes that mark, and remembers the package. Of the packages that a name without
// escapes may belong to, the longest one that is known is it.
//
//go:norace
func Package(name string) string {
	name = strings.TrimLeft(name, "*")
	if i := strings.IndexAny(name, "[({ "); i >= 0 {
		name = name[:i] // type arguments, receivers and fields have paths of their own
	}
	end := pathEnd(name)
	if end == len(name) || strings.Contains(name[:end], ":") {
		return ""
	}
	if known := dotted.Load(); known != nil {
		for i := end + 1; i < len(name); i++ {
			if name[i] == '.' && (*known)[name[:i]] {
				end = i
			}
		}
	}
	return unescapePath(name[:end])
}

// Split returns the package of a name and the rest, both without escapes: "gopkg.in/yaml.v3" and
// "(*Node).Decode". The package is "" if the name belongs to none, and the rest then is all of it.
func Split(name string) (pkg, member string) {
	name = strings.TrimLeft(Unescape(name), "*")
	if pkg = Package(name); pkg == "" {
		return "", name
	}
	return pkg, name[len(pkg)+1:]
}

// Outer returns the function that a literal is in, without its package: "TestX" for
// "example.com/app.TestX.func1". For a method it returns the receiver's type.
func Outer(function string) string {
	_, member := Split(function)
	outer, _, _ := strings.Cut(member, ".")
	return outer
}

// LastElement removes the folders of the import path from a name: "v2.T" remains of
// "example.com/app/v2.T".
func LastElement(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// pathEnd returns where the import path ends in a name of the linker's: at the first dot behind the
// last slash, or at the end of a name without one.
//
//go:norace
func pathEnd(name string) int {
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		return slash + dot
	}
	return len(name)
}

// dotted are the packages whose last element has a dot ("gopkg.in/yaml.v3"), as far as they are
// known. The map is never written to.
var dotted atomic.Pointer[map[string]bool]

// Learn makes import paths known to Package. It ignores those without a dot in the last element,
// and may be called at any time.
func Learn(paths ...string) {
	for _, path := range paths {
		if !hasDot(path) {
			continue
		}
		for {
			old := dotted.Load()
			known := make(map[string]bool)
			if old != nil {
				if (*old)[path] {
					break
				}
				known = maps.Clone(*old)
			}
			known[strings.Clone(path)] = true // it may lie in memory that is unmapped
			if dotted.CompareAndSwap(old, &known) {
				break
			}
		}
	}
}

// hasDot reports whether the last element of an import path has a dot.
func hasDot(path string) bool { return pathEnd(path) < len(path) }

// Dotted returns the packages that Learn and Unescape have come across, sorted. Another process has
// to Learn them before it reads names that this process has written.
func Dotted() []string {
	known := dotted.Load()
	if known == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(*known))
}

// Unescape undoes the linker's escaping of import paths: "gopkg.in/yaml%2ev3.Node" is
// "gopkg.in/yaml.v3.Node" (go1.26 cmd/internal/objabi/path.go, PathToPrefix). It leaves struct tags
// as they are, and names without escapes. Package knows the packages of the names that it returns.
func Unescape(name string) string {
	if strings.IndexByte(name, '%') < 0 {
		return name
	}
	var b strings.Builder
	for name != "" {
		var word, separator string
		word, separator, name = CutWord(name)
		end := pathEnd(word)
		path := unescapePath(word[:end])
		if path != word[:end] && !strings.Contains(path, ":") {
			Learn(path)
		}
		b.WriteString(path)
		b.WriteString(word[end:])
		b.WriteString(separator)
	}
	return b.String()
}

// unescapePath is Unescape for an import path.
//
//go:norace
func unescapePath(s string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for ; i >= 0; i = strings.IndexByte(s, '%') {
		b = append(b, s[:i]...)
		c, ok := unescapeByte(s[i:])
		if ok {
			s = s[i+3:]
		} else {
			c, s = '%', s[i+1:]
		}
		b = append(b, c)
	}
	return string(append(b, s...))
}

const hexDigits = "0123456789abcdef"

// unescapeByte decodes the escape sequence at the start of a string, if there is one that the
// linker writes.
//
//go:norace
func unescapeByte(s string) (c byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	hi, lo := strings.IndexByte(hexDigits, s[1]), strings.IndexByte(hexDigits, s[2])
	if hi < 0 || lo < 0 {
		return 0, false
	}
	c = byte(hi<<4 | lo)
	return c, c <= ' ' || c == '.' || c == '%' || c == '"' || c >= 0x7f
}
