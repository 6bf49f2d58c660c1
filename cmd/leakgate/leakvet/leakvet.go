package leakvet

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer finds mistakes in tests that use leakcheck.
var Analyzer = &analysis.Analyzer{
	Name:      "leakcheck",
	Doc:       "check tests that assert what memory they retain, with github.com/leakgate/leakgate/leakcheck",
	URL:       "https://pkg.go.dev/github.com/leakgate/leakgate/cmd/leakgate/leakvet",
	Run:       run,
	FactTypes: []analysis.Fact{new(symbols)},
}

// leakcheck is the import path of the package whose use is checked.
const leakcheck = "github.com/leakgate/leakgate/leakcheck"

func run(pass *analysis.Pass) (any, error) {
	exportSymbols(pass)
	checkImports(pass)
	if err := checkOrphans(pass); err != nil {
		return nil, err
	}
	for _, file := range pass.Files {
		if !imports(file, leakcheck) {
			continue
		}
		checkNames(pass, file)
		checkMisuse(pass, file)
		for _, f := range functions(file) {
			checkParallel(pass, f)
			checkGolden(pass, f)
			checkCollected(pass, f)
			checkHolders(pass, f)
		}
	}
	return nil, nil
}

func isTestFile(pass *analysis.Pass, file *ast.File) bool {
	return strings.HasSuffix(fileName(pass, file), "_test.go")
}

func fileName(pass *analysis.Pass, file *ast.File) string {
	return pass.Fset.File(file.FileStart).Name()
}

func folder(pass *analysis.Pass, file *ast.File) string { return filepath.Dir(fileName(pass, file)) }

// A function is a function declaration or literal with its own calls, without those in literals
// that are tests of their own (t.Run).
type function struct {
	name  string // of a declaration
	node  ast.Node
	body  *ast.BlockStmt
	typ   *ast.FuncType
	outer *function
}

// functions returns the declared functions of a file, and the literals in them that take a
// parameter, as those given to t.Run do. Other literals are part of the function around them.
func functions(file *ast.File) []*function {
	var all []*function
	var add func(f *function)
	add = func(f *function) {
		all = append(all, f)
		ast.Inspect(f.body, func(n ast.Node) bool {
			lit, ok := n.(*ast.FuncLit)
			if !ok || lit.Type.Params.NumFields() == 0 {
				return true
			}
			add(&function{node: lit, body: lit.Body, typ: lit.Type, outer: f})
			return false
		})
	}
	for _, d := range file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			add(&function{name: d.Name.Name, node: d, body: d.Body, typ: d.Type})
		}
	}
	return all
}

// calls calls each for every call in f, not in functions inside of it.
func (f *function) calls(each func(call *ast.CallExpr)) {
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return n.Type.Params.NumFields() == 0
		case *ast.CallExpr:
			each(n)
		}
		return true
	})
}

// callee returns the name of the function of leakcheck that is called, "" if it is none.
func callee(info *types.Info, call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr: // Type[T]()
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.SelectorExpr:
		id = x.Sel
	case *ast.Ident:
		id = x
	default:
		return ""
	}
	f, ok := info.Uses[id].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != leakcheck || f.Signature().Recv() != nil {
		return ""
	}
	return f.Name()
}

// An option is one argument of an assertion: the function of leakcheck that it begins with, such as
// Root in Root("x").MaxObjects(1).
type option struct {
	name string // "" if it is not written out
	call *ast.CallExpr
}

// options returns the options of an assertion: its arguments from index from on.
func options(info *types.Info, call *ast.CallExpr, from int) []option {
	var out []option
	for _, arg := range call.Args[min(from, len(call.Args)):] {
		out = append(out, optionOf(info, arg))
	}
	if call.Ellipsis.IsValid() {
		out = append(out, option{})
	}
	return out
}

func optionOf(info *types.Info, arg ast.Expr) option {
	for {
		call, ok := ast.Unparen(arg).(*ast.CallExpr)
		if !ok {
			return option{}
		}
		if name := callee(info, call); name != "" {
			return option{name, call}
		}
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return option{}
		}
		arg = sel.X
	}
}

// selectors are the functions of leakcheck that begin a bound. The value says whether the bound is
// on what certain roots hold: then other tests' memory does not count.
var selectors = map[string]bool{"Root": true, "Path": true, "Type": false, "TypeNamed": false, "Stack": true, "Goroutines": true}
