package leakvet

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/leakgate/leakgate/internal/textfmt"
)

// symbols is the fact of a package: the names that its debug information will have. Export data
// lacks unexported variables, so each package exports the fact about itself.
type symbols struct {
	Package string   // its name
	Values  []string // package variables and functions
	Types   []string

	read func() // fills in the names; nil: they are there
}

// AFact marks symbols as a fact.
func (*symbols) AFact() {}

// String implements fmt.Stringer, for the tests of analyzers.
func (s *symbols) String() string {
	return fmt.Sprintf("%d values, %d types", len(s.Values), len(s.Types))
}

// exportSymbols exports the symbols of a package, except for the main packages that the go command
// writes for tests: nobody names what is in them.
func exportSymbols(pass *analysis.Pass) {
	if !strings.HasSuffix(pass.Pkg.Path(), ".test") {
		pass.ExportPackageFact(symbolsOf(pass.Pkg))
	}
}

func symbolsOf(pkg *types.Package) *symbols {
	s := &symbols{Package: pkg.Name()}
	for _, name := range pkg.Scope().Names() {
		switch pkg.Scope().Lookup(name).(type) {
		case *types.Var, *types.Func:
			s.Values = append(s.Values, name)
		case *types.TypeName:
			s.Types = append(s.Types, name)
		}
	}
	return s
}

// checkNames finds bounds whose package exists and whose variable, function or type does not.
func checkNames(pass *analysis.Pass, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		name := callee(pass.TypesInfo, call)
		if name != "Root" && name != "Path" && name != "TypeNamed" {
			return true
		}
		if pattern, ok := textOf(pass.TypesInfo, call.Args[0]); ok {
			checkName(pass, call.Args[0], name, pattern)
		}
		return true
	})
}

// checkName looks a pattern up in the packages that it may mean: the pattern may have only the last
// elements of the import path, or the package's name.
func checkName(pass *analysis.Pass, at ast.Expr, selector, pattern string) {
	text := pattern
	if selector == "TypeNamed" {
		text = strings.TrimLeft(text, "*")
	}
	if isPattern(text) {
		return
	}
	known := knownSymbols(pass)
	paths := slices.SortedFunc(maps.Keys(known), func(a, b string) int {
		// the shortest is the likeliest
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	var names []string // of the packages that the pattern may mean
	where := ""
	var head string
	for i := strings.LastIndexByte(untilBracket(text), '/') + 1; i < len(text); i++ {
		if text[i] != '.' || i == 0 {
			continue
		}
		prefix := text[:i]
		for _, path := range paths {
			s := known[path]
			if path != prefix && !strings.HasSuffix(path, "/"+prefix) && s.Package != prefix {
				continue
			}
			if s.read != nil {
				s.read()
			}
			h, definite := firstName(text[i+1:])
			if !definite || s.has(h, selector) {
				return
			}
			if where == "" {
				head, where = h, path
			}
			names = append(names, s.names(selector)...)
		}
	}
	if where == "" {
		return // the package is not among those that this one imports, or facts are missing
	}
	what := "variable or function"
	if selector == "TypeNamed" {
		what = "type"
	}
	d := analysis.Diagnostic{
		Pos: at.Pos(), End: at.End(),
		Message: fmt.Sprintf("there is no %s %q in %s, so %s(%q) fails its test", what, head, where, selector, pattern),
	}
	if near := nearest(head, names); near != "" {
		d.Message += fmt.Sprintf("; did you mean %q?", near)
		d.SuggestedFixes = fixName(at, pattern, head, near)
	}
	pass.Report(d)
}

// isPattern reports whether a text has wildcards, or is no plain name ("map[string]int").
func isPattern(text string) bool {
	plain := strings.ReplaceAll(strings.ReplaceAll(text, "[*]", ""), "(*", "(")
	return text == "" || strings.Contains(plain, "*") || strings.Contains(plain, "...") ||
		strings.ContainsAny(untilBracket(text), " ({$")
}

// untilBracket returns the text before the first index: later slashes are not of the import path.
func untilBracket(text string) string {
	before, _, _ := strings.Cut(text, "[")
	return before
}

// firstName returns the name that follows the package. It is not definite if the compiler may have
// made it up.
func firstName(rest string) (name string, definite bool) {
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	name = rest[:end]
	return name, token.IsIdentifier(name) && name != "init" && name != "glob"
}

// has reports whether the package has a name: for a root a variable, a function or the type of a
// method.
func (s *symbols) has(name, selector string) bool {
	return slices.Contains(s.Types, name) || selector != "TypeNamed" && slices.Contains(s.Values, name)
}

func (s *symbols) names(selector string) []string {
	if selector == "TypeNamed" {
		return s.Types
	}
	return s.Values
}

// knownSymbols returns the symbols of the package and of all that it imports, by import path.
func knownSymbols(pass *analysis.Pass) map[string]*symbols {
	known := make(map[string]*symbols)
	for _, f := range pass.AllPackageFacts() {
		if s, ok := f.Fact.(*symbols); ok {
			known[f.Package.Path()] = s
		}
	}
	known[pass.Pkg.Path()] = symbolsOf(pass.Pkg)
	return known
}

// fixName replaces the name in a string literal.
func fixName(at ast.Expr, pattern, head, near string) []analysis.SuggestedFix {
	i := strings.LastIndex(untilBracket(pattern), "."+head)
	if strings.Count(pattern, "."+head) != 1 || i < 0 {
		return nil
	}
	return fixLiteral(at, head, near, pattern[:i+1]+near+pattern[i+1+len(head):])
}

// fixLiteral replaces the text of a string literal, in which wrong becomes right. It leaves a
// constant alone: other code may use it.
func fixLiteral(at ast.Expr, wrong, right, text string) []analysis.SuggestedFix {
	lit, ok := at.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message:   fmt.Sprintf("Replace %s with %s", wrong, right),
		TextEdits: []analysis.TextEdit{{Pos: lit.Pos(), End: lit.End(), NewText: []byte(strconv.Quote(text))}},
	}}
}

// nearest returns the name that differs least from written, "" if none comes near or two do
// equally.
func nearest(written string, names []string) string {
	if near := textfmt.Nearest(written, names, len(written)/3); len(near) == 1 {
		return near[0]
	}
	return ""
}
