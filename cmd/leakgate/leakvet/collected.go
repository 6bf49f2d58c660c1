package leakvet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// checkCollected finds objects that are asserted to be garbage while the test still uses them.
func checkCollected(pass *analysis.Pass, f *function) {
	f.calls(func(call *ast.CallExpr) {
		if len(call.Args) < 2 {
			return
		}
		switch callee(pass.TypesInfo, call) {
		case "AssertCollected":
			object := f.weakOf(pass.TypesInfo, call.Args[1])
			if use := f.useAfter(pass.TypesInfo, object, call.End()); use != nil {
				pass.ReportRangef(call, "%s cannot be garbage here: the test uses it in line %d", object.Name(), pass.Fset.Position(use.Pos()).Line)
			}
		case "ExpectCollected":
			f.checkSubtest(pass, call)
		}
	})
}

// checkSubtest checks an expectation for the end of a subtest: an object that the test uses after
// the subtest is alive at that point.
func (f *function) checkSubtest(pass *analysis.Pass, call *ast.CallExpr) {
	object := variable(pass.TypesInfo, call.Args[1])
	if object == nil || f.outer == nil || f.contains(object.Pos()) {
		return
	}
	for inner, outer := f, f.outer; outer != nil; inner, outer = outer, outer.outer {
		if use := outer.useAfter(pass.TypesInfo, object, inner.node.End()); use != nil {
			pass.ReportRangef(call, "%s cannot be garbage when the subtest ends: the test uses it in line %d", object.Name(), pass.Fset.Position(use.Pos()).Line)
			return
		}
		if outer.contains(object.Pos()) {
			return
		}
	}
}

func (f *function) contains(pos token.Pos) bool { return f.node.Pos() <= pos && pos < f.node.End() }

// variable returns the local variable that an expression is, nil if it is something else.
func variable(info *types.Info, e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := info.Uses[id].(*types.Var)
	if !ok || v.Parent() == nil || v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return nil
	}
	return v
}

// weakOf returns the variable that a weak pointer was made of: by the expression itself, or by the
// only assignment to the variable that the expression is.
func (f *function) weakOf(info *types.Info, e ast.Expr) *types.Var {
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		return madeOf(info, call)
	}
	w := variable(info, e)
	if w == nil {
		return nil
	}
	var object *types.Var
	assigned := 0
	ast.Inspect(f.body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for i, left := range assign.Lhs {
			id, ok := left.(*ast.Ident)
			if !ok || info.Defs[id] != w && info.Uses[id] != w {
				continue
			}
			assigned++
			if len(assign.Lhs) == len(assign.Rhs) {
				if call, ok := ast.Unparen(assign.Rhs[i]).(*ast.CallExpr); ok {
					object = madeOf(info, call)
				}
			}
		}
		return true
	})
	if assigned != 1 {
		return nil
	}
	return object
}

// madeOf returns the variable p in weak.Make(p).
func madeOf(info *types.Info, call *ast.CallExpr) *types.Var {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}
	if made, ok := info.Uses[sel.Sel].(*types.Func); !ok || made.Pkg() == nil || made.Pkg().Path() != "weak" || made.Name() != "Make" {
		return nil
	}
	return variable(info, call.Args[0])
}

// useAfter returns a use of a variable in f that runs after pos: one at a later position, unless
// the variable gets another value first, or one in a deferred call.
func (f *function) useAfter(info *types.Info, v *types.Var, pos token.Pos) ast.Node {
	if v == nil {
		return nil
	}
	written := make(map[*ast.Ident]bool)
	var use ast.Node
	var overwritten token.Pos
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok && info.Uses[id] == v {
					written[id] = true
					if n.Pos() > pos && !overwritten.IsValid() {
						overwritten = n.End() // the right side still reads the old value
					}
				}
			}
		case *ast.DeferStmt:
			if n.Pos() < pos && use == nil && uses(info, n, v) {
				use = n
			}
		case *ast.Ident:
			if info.Uses[n] == v && n.Pos() > pos && !written[n] && use == nil && (!overwritten.IsValid() || n.Pos() < overwritten) {
				use = n
			}
		}
		return true
	})
	return use
}

func uses(info *types.Info, in ast.Node, v *types.Var) bool {
	found := false
	ast.Inspect(in, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && info.Uses[id] == v {
			found = true
		}
		return true
	})
	return found
}
