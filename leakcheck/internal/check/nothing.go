package check

import (
	"fmt"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// NothingMeant returns what is wrong with an option whose selector matches nothing in the program
// or in the scope, "" if nothing is wrong.
func NothingMeant(option string, sel *request.Selector, s tree.Scope, at *Seen) string {
	if meant := sel.Selects(at.Everything); len(meant) > 0 {
		if sel.ByType() || s.IncludesAny(meant) {
			return ""
		}
		return fmt.Sprintf("%s: %s lies outside of the Scope of this assertion", option, meant[0].Path)
	}
	if sel.Known(at.Names) {
		return noField(option, sel, at.Names)
	}
	if sel.ByType() {
		if known, _ := sel.KnownType(at.Names); known {
			return option + ": only function types and interfaces have such a name, and no object has such a type: a closure has the type of its function, " +
				"an interface holds an object of another type; " + naming.BoundTheHolder
		}
		return fmt.Sprintf("%s: the program has no such type%s", option, naming.DidYouMean(sel.Types.Pattern.Text, at.Names.TypeNames(), naming.ObjectType)) +
			howToName(sel.Types.Pattern.Text)
	}
	if sel.KnownAsPath(at.Names) {
		return fmt.Sprintf("%s: the program has no package variable or function of that name, but one with such a field: write Path(%q)", option, sel.Path.Text)
	}
	return fmt.Sprintf("%s: the program has no package variable or function of that name%s", option, naming.DidYouMean(sel.Path.Text, at.Names.RootNames(), symbol.Unescape)) +
		"\n    (the linker drops variables that nothing uses, the compiler the names of some in functions)"
}

// howToName says how a type that the program does not have may be named.
func howToName(text string) string {
	if strings.HasPrefix(text, naming.ClosurePrefix) || strings.Contains(text, ".func") {
		return "\n    (a closure has the type \"func import/path.Func.func1\", and its number changes with the code beside it: TypeNamed(\"func app.Func.func*\"))"
	}
	return "\n    (Type[T]() is checked by the compiler)"
}

// noField returns what is wrong with an option whose path goes by a field that does not exist, ""
// if nothing is wrong.
func noField(option string, sel *request.Selector, names naming.Inventory) string {
	root, missing := sel.MissingField(names)
	if missing == nil {
		return ""
	}
	path := root + missing.Path
	problem := option + ": " + path + " has no field " + missing.Name
	if near := naming.Suggest(missing.Name, missing.Fields); len(near) > 0 {
		return problem + "; did you mean " + path + "." + strings.Join(near, ", "+path+".") + "?"
	}
	return problem + "; its fields are: " + strings.Join(missing.Fields, ", ")
}
