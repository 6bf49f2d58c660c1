package naming

import (
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
)

// TypeName returns the name that a report has for t. It is the compiler's link name
// (cmd/compile/internal/types fmt.go, LinkString, go1.26): as in reflect's String, but with full
// import paths, and unexported fields and methods carry their package too. Escapes of dots are
// undone, and so are the numbers ("·1") that tell apart types declared in functions, which reflect
// does not give for all of them.
func TypeName(t reflect.Type) string {
	return CleanType(rawTypeName(t))
}

// CleanType converts a type's name, from reflect or a report, to the form that is compared and
// printed.
func CleanType(name string) string {
	name = symbol.Unescape(name)
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
	// Spelling out the methods would need reflect.Type.Method, for which the linker keeps every
	// exported method of every type: 1.3 MB in a test binary. reflect's own text names packages by
	// their last element, so it finds only interfaces with exported methods of predeclared types.
	return t.String()
}

func qualified(pkg, name string) string {
	if pkg == "" {
		return name
	}
	return pkg + "." + name
}

// RewriteWords replaces the words of a type's name: those between brackets, stars, commas and
// spaces.
func RewriteWords(name string, rewrite func(word string) string) string {
	var b strings.Builder
	for name != "" {
		var word, separator string
		word, separator, name = symbol.CutWord(name)
		b.WriteString(rewrite(word))
		b.WriteString(separator)
	}
	return b.String()
}

// NamedTypes yields the named types that a type is, or is made of: the import path of each and its
// name. It skips predeclared types.
func NamedTypes(typ string) iter.Seq2[string, string] {
	return func(yield func(pkg, name string) bool) {
		for rest := typ; rest != ""; {
			var word string
			word, _, rest = symbol.CutWord(rest)
			if pkg, name := symbol.Split(word); pkg != "" && !yield(pkg, name) {
				return
			}
		}
	}
}

// A TypeMatch finds the nodes of a report that hold objects of a type. It compares the node's type,
// which is that of the reference: "*T" for an object T behind a pointer, "T" for one in an
// interface.
type TypeMatch struct {
	names   []string // exact names of the reference's type
	Pattern *Pattern // or a pattern for the name of the object's type
	Pointer bool     // the pattern was given as that of a pointer: "*app.Session"
}

// ObjectOf returns the type of the objects that Type[T] means: T and *T are the same.
func ObjectOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return t.Elem()
	}
	return t
}

// ClosurePrefix begins the type of a closure, before the name of its function.
const ClosurePrefix = "func "

// BoundTheHolder says what to do about a type that no object has.
const BoundTheHolder = "bound what holds it with Root or Path"

func MatchType(t reflect.Type) (TypeMatch, error) {
	object := ObjectOf(t)
	pointed := object != t
	name := TypeName(object)
	switch object.Kind() {
	case reflect.Interface:
		return TypeMatch{}, fmt.Errorf("%s is an interface, and no object has such a type; name the type that it holds", name)
	case reflect.Func:
		if !pointed {
			return TypeMatch{}, fmt.Errorf("%s is a function type, and no object has such a type: a closure has the type of its function; "+BoundTheHolder, name)
		}
		return TypeMatch{names: []string{"*" + name}}, nil
	case reflect.Pointer:
		return TypeMatch{names: []string{"*" + name}}, nil
	case reflect.Map, reflect.Slice, reflect.String, reflect.Chan:
		// The type of such a reference stands for the object behind it. A pointer to the type
		// stands for the cell that holds the reference.
		if pointed {
			return TypeMatch{names: []string{"*" + name}}, nil
		}
		return TypeMatch{names: []string{name}}, nil
	}
	return TypeMatch{names: []string{"*" + name, name}}, nil
}

func MatchTypeNamed(text string) (TypeMatch, error) {
	// A star before a name is that of a pointer type. A star before anything else is a wildcard.
	pointer := len(text) > 1 && text[0] == '*' && !strings.ContainsRune("*./", rune(text[1]))
	if pointer {
		text = text[1:]
	}
	text = RewriteWords(text, func(word string) string {
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
	p, err := compilePattern(CleanType(text))
	return TypeMatch{Pattern: &p, Pointer: pointer}, err
}

// Exact returns the exact names of the reference's type, "" if a pattern is used instead.
func (m TypeMatch) Exact() string { return strings.Join(m.names, " ") }

// Matches reports whether a reference of the given type leads to objects of the type that m is for.
func (m TypeMatch) Matches(reference string) bool {
	if m.Pattern == nil {
		for _, n := range m.names {
			if n == reference {
				return true
			}
		}
		return false
	}
	object := strings.TrimPrefix(reference, "*")
	if object != "" && object[0] == '*' {
		// A pointer is an object of its own, which only a pattern for any text is for, too.
		if m.Pattern.tokens[0].wild != anything {
			return false
		}
		object = strings.TrimLeft(object, "*")
	}
	return object != "" && (m.Pattern.MatchWhole(object) || m.Pattern.MatchWhole(LastElements(object)) || m.Pattern.MatchWhole(ShortName(object)))
}

// NodeKey identifies a node of a folded report: by its path and type, and by the goroutine of its
// root and where that goroutine was created.
func NodeKey(path, typ, goroutine, createdAt string) string {
	return path + "\n" + typ + "\n" + goroutine + "\n" + createdAt
}

// PathOfKey returns the path in a NodeKey.
func PathOfKey(key string) string {
	path, _, _ := strings.Cut(key, "\n")
	return path
}
