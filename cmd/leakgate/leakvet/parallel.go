package leakvet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// checkParallel finds assertions on all memory of the process in tests that share it with others.
func checkParallel(pass *analysis.Pass, f *function) {
	if !f.parallel(pass.TypesInfo) {
		return
	}
	f.calls(func(call *ast.CallExpr) {
		switch callee(pass.TypesInfo, call) {
		case "AssertRetained":
			if !isolated(options(pass.TypesInfo, call, 1)) {
				pass.ReportRangef(call, "AssertRetained in a parallel test: what other tests retain at that moment counts too; "+
					"give it a Scope, use Since, or do not call Parallel")
			}
		case "AssertNoGrowth":
			scoped := func(o option) bool { return o.name == "" || o.name == "Scope" }
			if !slices.ContainsFunc(options(pass.TypesInfo, call, 2), scoped) {
				pass.ReportRangef(call, "AssertNoGrowth in a parallel test: what grows in other tests meanwhile counts too; "+
					"give it a Scope, or do not call Parallel")
			}
		case "AssertPeak":
			pass.ReportRangef(call, "AssertPeak in a parallel test: what other tests allocate meanwhile counts too; do not call Parallel")
		}
	})
}

// parallel reports whether f, or a test that f is a subtest of, calls Parallel.
func (f *function) parallel(info *types.Info) bool {
	for ; f != nil; f = f.outer {
		found := false
		f.calls(func(call *ast.CallExpr) {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Parallel" && len(call.Args) == 0 {
				if m, ok := info.Uses[sel.Sel].(*types.Func); ok && m.Pkg() != nil && m.Pkg().Path() == "testing" {
					found = true
				}
			}
		})
		if found {
			return true
		}
	}
	return false
}

// isolated reports whether options keep other tests' memory out, or may do so.
func isolated(options []option) bool {
	bounds, onRoots := 0, 0
	for _, o := range options {
		switch o.name {
		case "Ignore", "Golden":
			continue
		case "", "Scope", "Since":
			return true
		}
		hasRoot, known := selectors[o.name]
		if !known {
			return true // newer than this analyzer
		}
		bounds++
		if hasRoot {
			onRoots++
		}
	}
	return bounds > 0 && bounds == onRoots
}
