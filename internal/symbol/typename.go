package symbol

import (
	"strconv"
	"strings"
)

// CutWord cuts the first word from a type's name, with the separator that follows it: a bracket, a
// star, a comma or a space, or the tag of a struct field, which is quoted.
func CutWord(name string) (word, separator, rest string) {
	end := strings.IndexAny(name, " []{}()*,;<>\"`")
	if end < 0 {
		return name, "", ""
	}
	separator = name[end : end+1]
	if quoted, err := strconv.QuotedPrefix(name[end:]); err == nil {
		separator = quoted
	}
	return name[:end], separator, name[end+len(separator):]
}

// IsRuntimeType reports whether a type is known, and is a type of the runtime's, a predeclared
// type, or made of these.
func IsRuntimeType(typ string) bool {
	for rest := typ; rest != ""; {
		var word string
		if word, _, rest = CutWord(rest); !IsRuntime(Package(word)) {
			return false
		}
	}
	return typ != ""
}

// IsCompilerCache reports whether a root is a cache that the compiler makes for a type switch or
// assertion; the runtime fills one in about a thousand uses, by chance (runtime/iface.go, go1.26).
func IsCompilerCache(root string) bool {
	return strings.Contains(root, "..typeAssert.") || strings.Contains(root, "..interfaceSwitch.")
}

// IsMapByPointers reports whether a type is a map whose keys are pointers or interfaces: one that
// adds something about objects that others make.
func IsMapByPointers(typ string) bool {
	key, ok := strings.CutPrefix(typ, "map[")
	return ok && (strings.HasPrefix(key, "*") || strings.HasPrefix(key, "i") && !strings.HasPrefix(key, "int"))
}
