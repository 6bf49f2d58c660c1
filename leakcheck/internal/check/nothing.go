package check

import (
	"fmt"

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
		return ""
	}
	if sel.ByType() {
		return fmt.Sprintf("%s: the program has no such type%s", option, naming.DidYouMean(sel.Types.Pattern.Text, at.Names.TypeNames(), naming.ObjectType)) +
			"\n    (Type[T]() is checked by the compiler)"
	}
	return fmt.Sprintf("%s: the program has no package variable or function of that name%s", option, naming.DidYouMean(sel.Path.Text, at.Names.RootNames(), symbol.Unescape)) +
		"\n    (the linker drops variables that nothing uses)"
}
