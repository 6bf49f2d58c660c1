package leakvet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// patterns are the functions of leakcheck whose first argument is a pattern, or all of whose
// arguments are.
var patterns = map[string]bool{"Root": true, "Path": true, "TypeNamed": true, "Goroutines": true, "Stack": true, "Ignore": true, "Scope": true}

// checkMisuse finds calls that panic, or fail the test whatever it retains: without a test, with an
// empty pattern, with a bound that nothing can satisfy.
func checkMisuse(pass *analysis.Pass, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := callee(pass.TypesInfo, call)
		switch {
		case name != "":
			checkArguments(pass, call, name)
		case isMaximum(pass.TypesInfo, call):
			checkLeast(pass, call, 0, "a bound cannot be negative, so the assertion fails")
		}
		return true
	})
}

func checkArguments(pass *analysis.Pass, call *ast.CallExpr, name string) {
	for i, arg := range call.Args {
		what := ""
		switch text, isText := textOf(pass.TypesInfo, arg); {
		case i == 0 && takesTest(pass.TypesInfo, call) && isNil(pass.TypesInfo, arg):
			pass.ReportRangef(arg, "%s(nil, ...) panics: give it the test", name)
		case i == 1 && (name == "AssertNoGrowth" || name == "AssertAllocs" || name == "AssertPeak") && isNil(pass.TypesInfo, arg):
			pass.ReportRangef(arg, "%s fails: op is nil", name)
		case !isText || text != "":
		case patterns[name] && (i == 0 || name == "Scope"):
			what = "pattern"
		case name == "Golden":
			what = "name"
		case name == "Ignore":
			what = "reason"
		}
		if what != "" {
			pass.ReportRangef(call, "%s: the %s is empty, so the assertion fails", types.ExprString(call), what)
		}
	}
	if name == "Iterations" || name == "Warmup" {
		checkLeast(pass, call, 1, "op must be called at least once, so the assertion fails")
	}
}

// checkLeast finds a constant number below the least allowed.
func checkLeast(pass *analysis.Pass, call *ast.CallExpr, least int64, problem string) {
	if len(call.Args) != 1 {
		return
	}
	value := pass.TypesInfo.Types[call.Args[0]].Value
	if value == nil || value.Kind() != constant.Int {
		return
	}
	if n, exact := constant.Int64Val(value); exact && n < least {
		fun := ast.Unparen(call.Fun)
		name := types.ExprString(fun)
		if sel, ok := fun.(*ast.SelectorExpr); ok {
			name = sel.Sel.Name
		}
		pass.ReportRangef(call.Args[0], "%s(%d): %s", name, n, problem)
	}
}

// isMaximum reports whether a call is of a method of leakcheck that sets an upper limit.
func isMaximum(info *types.Info, call *ast.CallExpr) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	f, ok := info.Uses[sel.Sel].(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == leakcheck && f.Signature().Recv() != nil && strings.HasPrefix(f.Name(), "Max")
}

// takesTest reports whether the first parameter of a function of leakcheck is one of its Testing
// interfaces: for a test, or for the runner of all tests.
func takesTest(info *types.Info, call *ast.CallExpr) bool {
	sig, ok := info.TypeOf(call.Fun).(*types.Signature)
	if !ok || sig.Params().Len() == 0 {
		return false
	}
	named, ok := types.Unalias(sig.Params().At(0).Type()).(*types.Named)
	return ok && strings.HasPrefix(named.Obj().Name(), "Testing")
}

// isNil reports whether an expression is nil, or nil converted to a type.
func isNil(info *types.Info, e ast.Expr) bool {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 && info.Types[call.Fun].IsType() {
		return isNil(info, call.Args[0])
	}
	return info.Types[e].IsNil()
}

// textOf returns the value of a constant string expression.
func textOf(info *types.Info, e ast.Expr) (text string, ok bool) {
	value := info.Types[e].Value
	if value == nil || value.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(value), true
}
