package leakcheck

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/fmterr"
)

// typeName returns the name that a report has for t. It is the compiler's link name
// (cmd/compile/internal/types fmt.go, LinkString, go1.26): as in reflect's String, but with full import
// paths, and unexported fields and methods carry their package too. Escapes of dots are undone, and so
// are the numbers ("·1") that tell apart types declared in functions, which reflect does not give for
// all of them.
func typeName(t reflect.Type) string {
	return cleanType(rawTypeName(t))
}

// cleanType brings a type's name, from reflect or a report, to the one form that is compared and printed.
func cleanType(name string) string {
	name = unescapePath(name)
	if strings.Contains(name, localMark) {
		name = withoutLocalNumbers(name)
	}
	return name
}

// localMark precedes the number of a type that is declared in a function.
const localMark = "·"

func withoutLocalNumbers(name string) string {
	var b strings.Builder
	for {
		head, rest, found := strings.Cut(name, localMark)
		b.WriteString(head)
		if !found {
			return b.String()
		}
		name = strings.TrimLeft(rest, "0123456789")
		if len(name) == len(rest) { // no number: a part of the name
			b.WriteString(localMark)
		}
	}
}

func rawTypeName(t reflect.Type) string {
	if t.Name() != "" {
		if t.PkgPath() == "" {
			if t.Kind() == reflect.UnsafePointer {
				return "unsafe.Pointer"
			}
			return t.Name()
		}
		return t.PkgPath() + "." + t.Name()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + rawTypeName(t.Elem())
	case reflect.Slice:
		return "[]" + rawTypeName(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), rawTypeName(t.Elem()))
	case reflect.Map:
		return "map[" + rawTypeName(t.Key()) + "]" + rawTypeName(t.Elem())
	case reflect.Chan:
		return chanName(t)
	case reflect.Func:
		return "func" + signature(t)
	case reflect.Struct:
		return structName(t)
	case reflect.Interface:
		return interfaceName(t)
	}
	return t.String()
}

func chanName(t reflect.Type) string {
	elem := rawTypeName(t.Elem())
	switch t.ChanDir() {
	case reflect.RecvDir:
		return "<-chan " + elem
	case reflect.SendDir:
		return "chan<- " + elem
	}
	if e := t.Elem(); e.Name() == "" && e.Kind() == reflect.Chan && e.ChanDir() == reflect.RecvDir {
		return "chan (" + elem + ")"
	}
	return "chan " + elem
}

func signature(t reflect.Type) string {
	var b strings.Builder
	b.WriteByte('(')
	for i := range t.NumIn() {
		if i > 0 {
			b.WriteString(", ")
		}
		if t.IsVariadic() && i == t.NumIn()-1 {
			b.WriteString("..." + rawTypeName(t.In(i).Elem()))
			continue
		}
		b.WriteString(rawTypeName(t.In(i)))
	}
	b.WriteByte(')')
	results := make([]string, t.NumOut())
	for i := range results {
		results[i] = rawTypeName(t.Out(i))
	}
	switch len(results) {
	case 0:
	case 1:
		b.WriteString(" " + results[0])
	default:
		b.WriteString(" (" + strings.Join(results, ", ") + ")")
	}
	return b.String()
}

func structName(t reflect.Type) string {
	if t.NumField() == 0 {
		return "struct {}"
	}
	var b strings.Builder
	b.WriteString("struct {")
	for i := range t.NumField() {
		f := t.Field(i)
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteByte(' ')
		if !f.Anonymous {
			b.WriteString(qualified(f.PkgPath, f.Name) + " ")
		}
		b.WriteString(rawTypeName(f.Type))
		if f.Tag != "" {
			fmt.Fprintf(&b, " %q", string(f.Tag))
		}
	}
	return b.String() + " }"
}

func interfaceName(t reflect.Type) string {
	if t.NumMethod() == 0 {
		return "interface {}"
	}
	// Spelling out the methods would need reflect.Type.Method, for which the linker keeps every exported
	// method of every type: 1.3 MB in a test binary. reflect's own text names packages by their last
	// element, so it finds only interfaces with exported methods of predeclared types.
	return t.String()
}

func qualified(pkg, name string) string {
	if pkg == "" {
		return name
	}
	return pkg + "." + name
}

// shortName shortens every import path in a name to its last element: "map[string]*app.Session".
func shortName(name string) string {
	if !strings.Contains(name, "/") {
		return name
	}
	return rewriteWords(name, func(word string) string { return word[strings.LastIndexByte(word, '/')+1:] })
}

// rewriteWords replaces the words of a type's name: what stands between brackets, stars, commas and
// spaces.
func rewriteWords(name string, rewrite func(word string) string) string {
	const separators = " []{}()*,;<>\""
	var b strings.Builder
	for name != "" {
		end := strings.IndexAny(name, separators)
		if end < 0 {
			end = len(name)
		}
		b.WriteString(rewrite(name[:end]))
		if end < len(name) {
			b.WriteByte(name[end])
			end++
		}
		name = name[end:]
	}
	return b.String()
}

// A typeMatch tells the nodes of a report that hold objects of some type by the node's type, which is
// that of the reference: "*T" for an object T behind a pointer, "T" for one in an interface.
type typeMatch struct {
	names   []string // exact names of the reference
	pattern *pattern // or a pattern for the name of the object's type
}

// objectOf returns the type of the objects that Type[T] means: T and *T are the same.
func objectOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return t.Elem()
	}
	return t
}

func matchType(t reflect.Type) (typeMatch, error) {
	object := objectOf(t)
	pointed := object != t
	name := typeName(object)
	switch object.Kind() {
	case reflect.Interface:
		return typeMatch{}, fmterr.Errorf("%s is an interface, and no object has such a type; name the type that it holds", name)
	case reflect.Pointer:
		return typeMatch{names: []string{"*" + name}}, nil
	case reflect.Map, reflect.Slice, reflect.String, reflect.Chan, reflect.Func:
		// The reference's own type stands for what it refers to; a pointer to one is for the cell that
		// holds it.
		if pointed {
			return typeMatch{names: []string{"*" + name}}, nil
		}
		return typeMatch{names: []string{name}}, nil
	}
	return typeMatch{names: []string{"*" + name, name}}, nil
}

func matchTypeNamed(text string) (typeMatch, error) {
	// A star before a name is a pointer's, one before anything else a wildcard.
	if len(text) > 1 && text[0] == '*' && !strings.ContainsRune("*./", rune(text[1])) {
		text = text[1:]
	}
	text = rewriteWords(text, func(word string) string {
		switch word {
		case "byte":
			return "uint8"
		case "rune":
			return "int32"
		case "any":
			return "interface {}"
		}
		return word
	})
	p, err := compilePattern(cleanType(text))
	return typeMatch{pattern: &p}, err
}

// matches reports whether a reference of the type leads to objects that are meant.
func (m typeMatch) matches(reference string) bool {
	if m.pattern == nil {
		for _, n := range m.names {
			if n == reference {
				return true
			}
		}
		return false
	}
	object := strings.TrimPrefix(reference, "*")
	return object != "" && (m.pattern.matchWhole(object) || m.pattern.matchWhole(shortName(object)))
}
